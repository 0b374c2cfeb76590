// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lives where: the ends of allocations and blocks, and what is kept of them afterwards.
#include "ordering/lives.h"

#include <utility>

namespace streamsan::ordering {

bool Lives::syncs(Address address) {
  const Allocation* allocation = address ? allocations.find(address) : nullptr;
  return allocation && allocation->info.syncs;
}

MemoryKind Lives::kind_at(Address address) {
  if (address == 0) return MemoryKind::Device;  // an array
  const Allocation* allocation = allocations.find(address);
  return allocation ? allocation->info.kind : MemoryKind::Pageable;
}

void Lives::end(Allocation& allocation) {
  const Range whole = allocation.info.range;
  end_blocks(whole);
  retired.drop_if([&](const RetiredBlock& life) { return life.info.range.overlaps(whole); }, pool, shadow);
  allocation.shadow.clear(pool, shadow);
  allocations.remove(allocation);
}

void Lives::end_overlapping(Range range) {
  for (Allocation* old = allocations.find_first_ending_after(range.begin); old && old->info.range.overlaps(range);
       old = allocations.find_first_ending_after(range.begin)) {
    end(*old);
  }
  end_blocks(range);
  retired.drop_if([&](const RetiredBlock& life) { return life.info.range.overlaps(range); }, pool, shadow);
  freed.reused(range);
}

void Lives::end_blocks(Range range) {
  if (blocks.live() == 0) return;
  for (Allocation* block = blocks.find_first_ending_after(range.begin); block && block->info.range.overlaps(range);
       block = blocks.find_first_ending_after(range.begin)) {
    block->shadow.clear(pool, shadow);
    blocks.remove(*block);
  }
}

Allocation& Lives::begin_block(Call call, Range range) {
  Allocation& block = blocks.add(next_allocation(), range, kind_at(range.begin));
  block.info.site = call.site;
  block.info.thread = call.thread;
  block.info.block = true;
  block.graphs_before = graphs;
  return block;
}

void Lives::retire(Allocation& block, const TwoClocks& waited, SiteId freed_at, const HostClock& host) {
  if (joined_) block.shadow.clear_if_covered(host.clock.documented, pool, shadow);
  if (!block.shadow.empty()) retired.add({block.info, std::exchange(block.shadow, {}), waited, freed_at}, pool, shadow);
  blocks.remove(block);
}

void Lives::prune_retired(const HostClock& host) {
  if (!joined_ || retired_pruned_at_ == host.version) return;
  retired_pruned_at_ = host.version;
  retired.drop_if(
      [&](const RetiredBlock& life) { return life.shadow.all_before(AccessMode::Write, host.clock.documented); }, pool,
      shadow);
}

void Lives::keep_freed(const Ended& ended) {
  const Range range = ended.info.range;
  bool in_use = false;
  for_each_held(range, [&](const Allocation&, Range) { in_use = true; });
  if (in_use) return;
  freed.reused(range);
  freed.add(ended.info, ended.free);
}

void Lives::stay_bounded(const VectorClock* known) {
  const auto for_each_shadow = [&](auto visit) {
    allocations.for_each([&](Allocation& each) { visit(each.shadow); });
    blocks.for_each([&](Allocation& each) { visit(each.shadow); });
    retired.for_each([&](RetiredBlock& each) { visit(each.shadow); });
  };
  if (known) {
    for_each_shadow([&](Shadow& s) { s.forget_covered(*known, pool, shadow); });
  }
  if (shadow.entries <= kMostEntries / 4 * 3) return;
  for_each_shadow([&](Shadow& s) { s.forget_older_half(pool, shadow); });
}

}  // namespace streamsan::ordering
