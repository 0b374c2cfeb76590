// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory that was freed and not allocated again: where a stale pointer points.
//
// R-SOA-04: once a free has returned, no later call may submit work that touches the memory, in whatever stream and
// whatever the order. So the lives of stream-ordered and of ordinary device memory are kept for a while after their
// end, by address. A life is dropped as soon as anything may live there again: an allocation that overlaps it
// (R-SOA-08, R-SOA-11), host memory that was touched or freed there. Lives of other memory are not kept: the host
// reuses the addresses of pinned, registered and managed memory, and programs map and unmap mapped ranges repeatedly.
//
// Bounded: past kMostLives the older half is forgotten (a use may be missed, none is invented).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

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
    if (lives_.size() == kMostLives) forget_older_half();
    lives_[info.range.begin] = {info, free, OpId{}, Certainty{}};
  }
  /// Something lives in the range again.
  void reused(Range range) {
    auto next = lives_.upper_bound(range.begin);
    if (next != lives_.begin() && std::prev(next)->second.info.range.end > range.begin) --next;
    while (next != lives_.end() && next->first < range.end) next = lives_.erase(next);
  }
  /// The kept life that held the address, or nullptr. Valid until the next add().
  [[nodiscard]] FreedLife* find(Address address) {
    const auto next = lives_.upper_bound(address);
    if (next == lives_.begin()) return nullptr;
    FreedLife& life = std::prev(next)->second;
    return life.info.range.contains(address) ? &life : nullptr;
  }

 private:
  void forget_older_half() {
    std::vector<OpId> frees;
    for (const auto& [base, life] : lives_) frees.push_back(life.free.op);
    const auto middle = frees.begin() + static_cast<std::ptrdiff_t>(frees.size() / 2);
    std::nth_element(frees.begin(), middle, frees.end());
    std::erase_if(lives_, [&](const auto& entry) { return entry.second.free.op < *middle; });
  }

  std::map<Address, FreedLife> lives_;
};

}  // namespace streamsan::ordering
