// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening and retiring lanes; lanes.h says which slot is taken and what that loses.
#include "ordering/lanes.h"

#include <algorithm>
#include <utility>

namespace streamsan::ordering {

Lane& Lanes::open(const VectorClock& known, const VectorClock& perhaps) {
  const auto first_over = [&](const VectorClock& clock) {
    return std::find_if(retired_.begin(), retired_.end(),
                        [&](LaneSlot slot) { return clock.covers(slot, lanes_[slot].last); });
  };
  auto reuse = first_over(known);
  if (reuse == retired_.end() && retired_.size() >= most_retired_) {
    reuse = first_over(perhaps);
    if (reuse == retired_.end()) reuse = retired_.begin();
  }
  if (reuse == retired_.end()) {
    Lane& fresh = lanes_.emplace_back();
    fresh.slot = static_cast<LaneSlot>(by_slot_.size());
    by_slot_.push_back(&fresh);
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
