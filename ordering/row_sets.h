// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of bytes with too many rows to remember each.
//
// Kernels repeat themselves: launch after launch touches the same two thousand rows, perhaps of two buffers in turn. So
// the bytes that an operation touches in one way form a set that never changes. Each set is stored once and has a
// number; equal sets have equal numbers. Whether two sets meet depends on the sets alone: it is computed once (rows.h)
// and looked up from then on. That makes it cheap to judge two streams that work on interleaved rows for hours.
//
// Counted, like accesses (access_pool.h). A set that no access refers to is kept in case it comes again, up to
// kMostIdlePieces pieces in all.
//
// What is lost: a comparison that takes more than kMostSteps is given up as "do not meet", and counted (a race may be
// missed, none is invented).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ordering/flat_map.h"
#include "ordering/rows.h"
#include "ordering/types.h"

namespace streamsan::ordering {

class RowSets {
 public:
  using Id = std::uint32_t;  ///< 0: no set
  static constexpr std::size_t kMostIdlePieces = std::size_t{1} << 16;
  static constexpr std::size_t kMostAnswers = std::size_t{1} << 15;
  static constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 17;

  /// The set of these bytes, with a count of one for the caller. Each piece is simplified and ends before kMostAddress;
  /// there is at least one. Sorts the pieces.
  Id intern(std::vector<Footprint>& pieces);
  void acquire(Id id);
  void release(Id id);

  [[nodiscard]] Range hull(Id id) const { return set(id).hull; }
  [[nodiscard]] std::size_t pieces(Id id) const { return set(id).pieces.size(); }

  /// A row that has bytes in the range.
  [[nodiscard]] std::optional<Range> row_in(Id id, Range range) const;
  /// A row of each that have common bytes.
  [[nodiscard]] std::optional<Meeting> meeting(Id first, Id second) const;
  /// Adds the bytes that the set has in the range, or in common with another set, until `runs` has `most`.
  void add_rows_in(Id id, Range range, std::vector<Range>& runs, std::size_t most) const;
  void add_common(Id first, Id second, std::vector<Range>& runs, std::size_t most) const;
  /// The row that decides how certainly the set meets what is inferred to begin at the pointer: the longest that holds
  /// it, or else the one that reaches furthest.
  [[nodiscard]] Range row_facing(Id id, Address pointer) const;
  /// Is there a single run that holds the whole range?
  [[nodiscard]] bool has_run_over(Id id, Range range) const;

  [[nodiscard]] std::size_t live() const { return sets_.size() - free_.size(); }
  /// Comparisons made, and those given up.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

 private:
  struct Set {
    std::vector<Footprint> pieces;  ///< by base
    std::vector<Address> ends;      ///< of the pieces up to each, the furthest
    Range hull;
    std::uint64_t hash = 0;
    std::uint32_t serial = 0;  ///< never used again, unlike the id
    std::uint32_t count = 0;
  };
  struct Answer {
    bool meet = false;
    Meeting meeting;
  };

  [[nodiscard]] const Set& set(Id id) const { return sets_[id - 1]; }
  [[nodiscard]] std::optional<Meeting> compare(const Set& first, const Set& second) const;
  void drop_idle();
  /// In pieces; a set without any is not for nothing either.
  static std::size_t weight(const Set& of) { return of.pieces.size() + 4; }

  std::vector<Set> sets_;
  std::vector<Id> free_;
  FlatMap<Id> by_hash_;
  std::uint32_t last_serial_ = 0;
  std::size_t idle_pieces_ = 0;
  mutable FlatMap<Answer> answers_;  ///< by both serials
  mutable std::uint64_t compared_ = 0;
  mutable std::uint64_t given_up_ = 0;
};

}  // namespace streamsan::ordering
