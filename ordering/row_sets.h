// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of bytes that are too many rows to be remembered one by one.
//
// What a kernel does it does again: launch after launch it touches the same two thousand rows, or one launch this
// buffer's and the next one that buffer's. So the bytes that an operation touches in one way are a set that never
// changes, kept once and known by a number, however often it is remembered. Equal sets have equal numbers. And whether
// two sets meet is a question about the two alone, whoever touches them and when: it is answered once (rows.h) and looked up
// from then on, which is what makes two streams that work on interleaved rows for hours cheap.
//
// Counted, like accesses (access_pool.h). A set that nobody remembers is kept for when it comes again, up to
// kMostIdlePieces of them all.
//
// What it loses: a comparison that takes more than kMostSteps is given up as "do not meet", and counted (a race may be
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
