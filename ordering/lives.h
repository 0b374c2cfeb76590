// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything with a life: allocations, the blocks of pools in them, and what is kept of both after their end, each with
// the accesses to it (shadow.h). Nothing here compares or reports.
#pragma once

#include "ordering/allocations.h"
#include "ordering/ended.h"
#include "ordering/freed_lives.h"
#include "ordering/lanes.h"
#include "ordering/loans.h"
#include "ordering/model.h"
#include "ordering/retired_blocks.h"

namespace streamsan::ordering {

class Lives {
 public:
  /// `joined`: what one host thread knows all know.
  explicit Lives(bool joined) : joined_(joined) {}

  /// Past this many remembered accesses in all, old ones are dropped.
  static constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 20;

  Allocations allocations;
  Allocations blocks;  ///< each lies over the allocations, and takes the accesses to its bytes
  RetiredBlocks retired;
  FreedLives freed;
  FreedLives freed_blocks;  ///< those that graphs may still use
  GraphCount graphs = 0;    ///< how many were made
  Loans loans;
  AccessPool pool;
  ShadowCounters shadow;

  [[nodiscard]] AllocationId next_allocation() { return AllocationId{++last_allocation_}; }
  /// The part of the model that holds the address: a block, or else an allocation, or else nullptr.
  [[nodiscard]] Allocation* holder(Address address) {
    Allocation* block = blocks.live() == 0 ? nullptr : blocks.find(address);
    return block ? block : allocations.find(address);
  }
  /// Calls visit(holder, its part of the range) for all bytes of the range that something holds, by address.
  template <typename Visit>
  void for_each_held(Range range, Visit visit);

  [[nodiscard]] MemoryKind kind_at(Address address);
  /// R-CPY-08: was the memory there set so that copies of it wait?
  [[nodiscard]] bool syncs(Address address);

  void end(Allocation& allocation);
  void end_overlapping(Range range);
  /// Ends the live blocks that overlap the range, without a hazard and without a trace.
  void end_blocks(Range range);
  Allocation& begin_block(Call call, Range range);
  void retire(Allocation& block, const TwoClocks& waited, SiteId freed_at, const HostClock& host);
  void prune_retired(const HostClock& host);
  /// A free has returned: remembers what was freed, unless something lives there by now.
  void keep_freed(const Ended& ended);
  /// Forgets what is known to be over, and then the older half. nullptr: nothing is known to be.
  void stay_bounded(const VectorClock* known);

 private:
  bool joined_;
  std::uint64_t last_allocation_ = 0;
  std::uint64_t retired_pruned_at_ = 0;  ///< version of the host clock
};

template <typename Visit>
void Lives::for_each_held(Range range, Visit visit) {
  while (!range.empty()) {
    Allocation* block = blocks.live() == 0 ? nullptr : blocks.find_first_ending_after(range.begin);
    if (block && block->info.range.begin <= range.begin) {
      const Range part = intersection(range, block->info.range);
      visit(*block, part);
      range.begin = part.end;
      continue;
    }
    const Range before_block{range.begin,
                             block && block->info.range.begin < range.end ? block->info.range.begin : range.end};
    Allocation* outer = allocations.find_first_ending_after(range.begin);
    if (!outer || outer->info.range.begin >= before_block.end) {
      range.begin = before_block.end;
      continue;
    }
    const Range part = intersection(before_block, outer->info.range);
    visit(*outer, part);
    range.begin = part.end;
  }
}

}  // namespace streamsan::ordering
