// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector clock: for each lane, how much of that lane's work is known to be complete.
//
// Every lane (a stream, a host thread) numbers its operations 1, 2, 3...: its epochs. clock[lane] == n says that the
// operations of `lane` up to epoch n are before whatever the clock belongs to. The naive model in four lines:
//
//   operation of lane L:   C_L[L] += 1, and the operation's epoch is C_L[L]
//   edge from X to Y:      C_Y := max(C_Y, C_X), lane by lane
//   "a is before Y":       C_Y[lane of a] >= epoch of a
//   "X is before Y":       C_X <= C_Y in every lane
//
// The clock is a flat vector indexed by lane slot (see lanes.h); slots past its end count as 0, so a clock is only as
// long as the highest slot that it covers. A slot of a destroyed stream is used again, with epochs that go on counting,
// which keeps clocks as long as the greatest number of streams that lived at one time.
//
// VARIANTS (what_if.h). A clock may stand for that of several programs at once, which differ in the edges they have.
// The vector is that of the base; a deviation says what a variant knows of a lane if that is something else. Each
// variant follows the four lines above by itself. A question without a variant means: in all of them. Without a what-if
// there are no deviations, and the cost of having them is a test of an empty vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "ordering/plain_list.h"

namespace streamsan::ordering {

using Epoch = std::uint64_t;
using LaneSlot = std::uint32_t;
using VariantId = std::uint32_t;

/// Which programs have an edge: the base or not, and the variants for which that is the other way round, by number.
struct Among {
  bool base = true;
  std::span<const VariantId> others;

  [[nodiscard]] bool all() const { return base && others.empty(); }
  [[nodiscard]] bool has(VariantId variant) const {
    return base != std::binary_search(others.begin(), others.end(), variant);
  }
};

struct Deviation {
  LaneSlot lane = 0;
  VariantId variant = 0;
  Epoch epoch = 0;
};

class VectorClock {
 public:
  /// The epoch in the base.
  [[nodiscard]] Epoch operator[](LaneSlot lane) const { return lane < epochs_.size() ? epochs_[lane] : 0; }
  /// The epoch in a variant.
  [[nodiscard]] Epoch in(VariantId variant, LaneSlot lane) const;
  /// In every program.
  [[nodiscard, gnu::always_inline]] bool covers(LaneSlot lane, Epoch epoch) const {
    if ((*this)[lane] < epoch) return false;
    if (deviations_.empty()) [[likely]]
      return true;
    return deviations_cover(lane, epoch);
  }
  [[nodiscard]] std::size_t size() const { return epochs_.size(); }
  /// The epochs in the base, by lane; all others are 0. Without deviations they are all that covers() looks at.
  [[nodiscard]] std::span<const Epoch> base() const { return epochs_; }
  [[nodiscard]] bool has_deviations() const { return !deviations_.empty(); }
  /// The deviations of the lane, by variant.
  [[nodiscard]] std::span<const Deviation> deviations(LaneSlot lane) const;

  /// In every program.
  void set(LaneSlot lane, Epoch epoch) {
    if (lane >= epochs_.size()) epochs_.resize(lane + 1, 0);
    epochs_[lane] = epoch;
    if (!deviations_.empty()) [[unlikely]]
      drop_deviations(lane);
  }

  /// An edge that every program has.
  void join(const VectorClock& other) {
    if (!deviations_.empty() || !other.deviations_.empty()) [[unlikely]]
      join_deviations(other);
    const std::size_t count = other.epochs_.size();
    if (count > epochs_.size()) [[unlikely]]
      epochs_.resize(count, 0);
    Epoch* mine = epochs_.data();
    const Epoch* theirs = other.epochs_.data();
    const auto join_at = [&](std::size_t i) { mine[i] = mine[i] < theirs[i] ? theirs[i] : mine[i]; };
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {  // the counting would take as long as the joining
      join_at(i);
      join_at(i + 1);
      join_at(i + 2);
      join_at(i + 3);
    }
    for (; i < count; ++i) join_at(i);
  }
  /// An edge that some have.
  void join(const VectorClock& other, const Among& among);

  /// Is everything this clock knows also known to `other`, in every program?
  [[nodiscard]] bool within(const VectorClock& other) const {
    for (LaneSlot lane = 0; lane < epochs_.size(); ++lane) {
      if (other[lane] < epochs_[lane]) return false;
    }
    return (deviations_.empty() && other.deviations_.empty()) || deviations_within(other);
  }

  void clear() {
    epochs_.clear();
    deviations_.clear();
  }

 private:
  [[nodiscard]] bool deviations_cover(LaneSlot lane, Epoch epoch) const;
  void drop_deviations(LaneSlot lane);
  [[nodiscard]] bool deviations_within(const VectorClock& other) const;
  /// What join() of all makes of the deviations; the base is yet to be joined.
  void join_deviations(const VectorClock& other);
  /// Appends to `out` the deviations that the lane has after the join.
  void join_lane(LaneSlot lane, std::span<const Deviation> mine, std::span<const Deviation> theirs,
                 const VectorClock& other, const Among& among, std::vector<Deviation>& out);

  PlainList<Epoch> epochs_;
  PlainList<Deviation> deviations_;  ///< by lane, then by variant; never equal to the base, nor past epochs_
};

}  // namespace streamsan::ordering
