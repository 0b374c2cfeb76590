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
// The clock is a flat vector indexed by lane slot (see lanes.h); slots past its end count as 0, so a clock is as long
// as the youngest lane it has heard of. A slot of a destroyed stream is used again, with epochs that go on counting,
// which keeps clocks as long as the greatest number of streams that lived at one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace streamsan::ordering {

using Epoch = std::uint64_t;
using LaneSlot = std::uint32_t;

class VectorClock {
 public:
  [[nodiscard]] Epoch operator[](LaneSlot lane) const { return lane < epochs_.size() ? epochs_[lane] : 0; }
  [[nodiscard]] bool covers(LaneSlot lane, Epoch epoch) const { return (*this)[lane] >= epoch; }
  [[nodiscard]] std::size_t size() const { return epochs_.size(); }

  void set(LaneSlot lane, Epoch epoch) {
    if (lane >= epochs_.size()) epochs_.resize(lane + 1, 0);
    epochs_[lane] = epoch;
  }

  void join(const VectorClock& other) {
    const std::size_t count = other.epochs_.size();
    if (count > epochs_.size()) epochs_.resize(count, 0);
    Epoch* mine = epochs_.data();
    const Epoch* theirs = other.epochs_.data();
    for (std::size_t i = 0; i < count; ++i) mine[i] = mine[i] < theirs[i] ? theirs[i] : mine[i];
  }

  /// Is everything this clock knows also known to `other`?
  [[nodiscard]] bool within(const VectorClock& other) const {
    for (LaneSlot lane = 0; lane < epochs_.size(); ++lane) {
      if (!other.covers(lane, epochs_[lane])) return false;
    }
    return true;
  }

  void clear() { epochs_.clear(); }

 private:
  std::vector<Epoch> epochs_;
};

}  // namespace streamsan::ordering
