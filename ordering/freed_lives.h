// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory that was freed and not given out again: what a stale pointer leads into.
//
// R-SOA-04: once a free has returned, no later call may submit work that touches the memory, in whatever stream and
// whatever the order. So the lives of stream-ordered and of ordinary device memory are kept for a while after their
// end, by address. A life is dropped as soon as anything may live there again: an allocation that overlaps it
// (R-SOA-08, R-SOA-11), host memory that was touched or freed there. Lives that end otherwise are not kept: the
// addresses of pinned, registered and managed memory go back to the host, and mapped ranges are made to be mapped
// again.
//
// Bounded: the last kMostLives frees. An older one is forgotten (a use may be missed, none is invented).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>

#include "ordering/hazard.h"
#include "ordering/types.h"

namespace streamsan::ordering {

struct FreedLife {
  AllocationInfo info;
  Access free;
  OpId last_user{};  ///< the last operation reported, and how certainly: it is reported once
  Certainty last_certainty{};
};

class FreedLives {
 public:
  static constexpr std::size_t kMostLives = 1024;

  /// The range must not overlap a kept life.
  void add(const AllocationInfo& info, const Access& free) {
    const std::size_t slot = added_++ % kMostLives;
    if (added_ > kMostLives) erase(slot);
    slots_[slot] = {info, free, OpId{}, Certainty{}};
    by_address_[info.range.begin] = slot;
  }
  /// Something lives in the range again.
  void reused(Range range) {
    auto next = by_address_.upper_bound(range.begin);
    if (next != by_address_.begin() && slots_[std::prev(next)->second].info.range.end > range.begin) --next;
    while (next != by_address_.end() && next->first < range.end) next = by_address_.erase(next);
  }
  /// The kept life that held the address, or nullptr. Valid until the next add().
  [[nodiscard]] FreedLife* find(Address address) {
    const auto next = by_address_.upper_bound(address);
    if (next == by_address_.begin()) return nullptr;
    FreedLife& life = slots_[std::prev(next)->second];
    return life.info.range.contains(address) ? &life : nullptr;
  }

 private:
  void erase(std::size_t slot) {
    const auto old = by_address_.find(slots_[slot].info.range.begin);
    if (old != by_address_.end() && old->second == slot) by_address_.erase(old);
  }

  std::unique_ptr<FreedLife[]> slots_ = std::make_unique<FreedLife[]>(kMostLives);  // a ring, oldest overwritten
  std::map<Address, std::size_t> by_address_;
  std::size_t added_ = 0;
};

}  // namespace streamsan::ordering
