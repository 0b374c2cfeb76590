// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering/blocks.h"

#include <algorithm>

namespace streamsan::ordering {
namespace {

Access at_point(Call call, OpId op, std::optional<StreamId> stream, AccessSource source, Range range) {
  return {.op = op,
          .site = call.site,
          .stream = stream.value_or(StreamId{}),
          .thread = call.thread,
          .mode = AccessMode::Write,
          .source = source,
          .on_stream = stream.has_value(),
          .range = range};
}

Allocation* block_at(const Allocations& blocks, Address base) {
  Allocation* block = blocks.find_first_ending_after(base);
  return block && block->info.range.begin == base ? block : nullptr;
}

/// What the pool waits for by itself before it hands the block out again.
TwoClocks waited_for(Progress& progress, const Allocation& block) {
  TwoClocks waited = block.waited;
  for (const StreamId stream : block.declared) {
    if (const Lane* in = progress.lane(stream)) waited.join(in->clock);
  }
  return waited;
}

}  // namespace

AllocationId Blocks::allocate(Call call, std::optional<StreamId> stream, Range range) {
  if (range.empty()) return {};
  const HostClock& host = progress_.host(call.thread);
  lives_.end_blocks(range);
  lives_.freed.reused(range);
  lives_.prune_retired(host);
  if (const std::optional<Point> at = progress_.point(call, stream)) {
    checks_.check_reuse(at_point(call, at->op, stream, AccessSource::Allocate, range), {at->lane, 0, at->clock, host});
  }
  Allocation& block = lives_.begin_block(call, range);
  block.handed_to = stream;
  return block.info.id;
}

AllocationId Blocks::allocate_without_stream(Call call, Range range) {
  if (range.empty()) return {};
  lives_.end_blocks(range);
  lives_.prune_retired(progress_.host(call.thread));
  Allocation& block = lives_.begin_block(call, range);
  block.without_stream = true;
  // No other life can end here before this one does.
  block.inherits = lives_.retired.any_in(range);
  return block.info.id;
}

void Blocks::free(Call call, std::optional<StreamId> stream, Address base) {
  Allocation* block = block_at(lives_.blocks, base);
  if (!block) return;
  const HostClock& host = progress_.host(call.thread);
  const TwoClocks waited = waited_for(progress_, *block);
  if (const std::optional<Point> at = progress_.point(call, stream)) {
    const Access free = at_point(call, at->op, stream, AccessSource::Free, block->info.range);
    checks_.check_release(*block, waited, free, {at->lane, 0, at->clock, host});
    if (block->graphs_before < lives_.graphs)
      lives_.freed_blocks.add_block(block->info, free, block->graphs_before, lives_.graphs);
  }
  lives_.retire(*block, waited, call.site, host);
}

void Blocks::free_without_stream(Call call, Address base) {
  Allocation* block = block_at(lives_.blocks, base);
  if (!block) return;
  if (!block->without_stream) return free(call, block->handed_to, base);
  free_unchecked(call, base);
}

void Blocks::free_unchecked(Call call, Address base) {
  if (Allocation* block = block_at(lives_.blocks, base))
    lives_.retire(*block, waited_for(progress_, *block), call.site, progress_.host(call.thread));
}

const AllocationInfo* Blocks::find(Address base) const {
  const Allocation* block = block_at(lives_.blocks, base);
  return block ? &block->info : nullptr;
}

void Blocks::use(StreamId stream, Address base) {
  Allocation* block = block_at(lives_.blocks, base);
  if (!block) return;
  std::vector<StreamId>& declared = block->declared;
  if (std::find(declared.begin(), declared.end(), stream) == declared.end()) declared.push_back(stream);
}

}  // namespace streamsan::ordering
