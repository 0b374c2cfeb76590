// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening and retiring lanes; lanes.h says which slot is taken and what that loses.
#include "ordering/lanes.h"

#include <algorithm>
#include <utility>

namespace streamsan::ordering {

Lane& Lanes::open(const VectorClock& known) {
  auto reuse = std::find_if(retired_.begin(), retired_.end(),
                            [&](LaneSlot slot) { return known.covers(slot, lanes_[slot].last); });
  if (reuse == retired_.end() && retired_.size() >= most_retired_) reuse = retired_.begin();
  if (reuse == retired_.end()) {
    Lane& fresh = lanes_.emplace_back();
    fresh.slot = static_cast<LaneSlot>(lanes_.size() - 1);
    return fresh;
  }
  const LaneSlot slot = *reuse;
  retired_.erase(reuse);
  Lane& lane = lanes_[slot];
  TwoClocks clock = std::move(lane.clock);
  const Epoch last = lane.last;
  lane = Lane{};
  lane.slot = slot;
  lane.clock = std::move(clock);
  lane.before_first = last;
  lane.last = last;
  return lane;
}

void Lanes::retire(LaneSlot slot) {
  Lane& lane = lanes_[slot];
  lane.is_stream = false;
  lane.history = LaneHistory{};
  retired_.push_back(slot);
}

}  // namespace streamsan::ordering
