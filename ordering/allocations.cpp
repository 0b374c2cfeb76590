// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generations, and the ordered map behind the cache.
#include "ordering/allocations.h"

#include <iterator>

namespace streamsan::ordering {

Allocation& Allocations::add(AllocationId id, Range range, MemoryKind kind) {
  if (unused_.empty()) unused_.push_back(&storage_.emplace_back());
  Allocation& allocation = *unused_.back();
  unused_.pop_back();
  allocation.info = {.id = id, .range = range, .kind = kind};
  allocation.at = kept_.assign(by_address_, range.begin, &allocation);
  cache_[cache_slot(range.begin)] = &allocation;
  return allocation;
}

void Allocations::remove(Allocation& allocation) {
  kept_.erase(by_address_, allocation.at);
  allocation.info = {};  // holds no address, as the cache expects
  allocation.shadow.cleared_at_version = 0;
  allocation.handed_to.reset();
  allocation.without_stream = false;
  allocation.inherits = false;
  allocation.declared.clear();
  allocation.waited.clear();
  unused_.push_back(&allocation);
}

const Allocation* Allocations::find_uncached(Address address) const {
  const Allocation* found = find_first_ending_after(address);
  return found && found->info.range.contains(address) ? found : nullptr;
}

Allocation* Allocations::find_first_ending_after(Address address) const {
  auto next = by_address_.upper_bound(address);
  if (next != by_address_.begin()) {
    const auto before = std::prev(next);
    if (before->second->info.range.end > address) return before->second;
  }
  return next == by_address_.end() ? nullptr : next->second;
}

}  // namespace streamsan::ordering
