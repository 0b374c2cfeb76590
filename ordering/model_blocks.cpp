// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of the program's own pools, as annotations describe them.
//
// A block is an allocation that lies inside another. While it lives, its bytes belong to it: an access is compared with
// other accesses in the same life, not with earlier ones by the pool or by other owners. So, as with allocations
// (R-SOA-08), the reuse of memory gives no report by itself. The pool, however, must keep a promise: when it hands the
// bytes out again, no earlier life may still be in use. The new owner works in a stream, or in no particular stream,
// which means that it may start at once. So every access of earlier lives must be before what that stream, or the host,
// does next. The return of a block is checked in the same way, against the stream for which the pool may hand the block
// out next without a wait: no harm is done yet, but will be when the block is handed out.
//
// A stream that the pool knows of is one that the pool waits for itself, up to the block's return. So an access that is
// before the work of that stream at that time is no hazard; that includes what the stream itself had waited for.
//
// A pool that states neither a stream nor that the host has waited (NVTX's regions) has promised nothing at either
// moment. Such a block inherits the accesses of its earlier lives, and every access to it is compared with those, too.
// An unordered pair is the same mistake, found later. If nothing touches the bytes again, there is nothing to report.
#include <algorithm>

#include "ordering/model_impl.h"

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

AllocationId Model::block_allocate(Call call, std::optional<StreamId> stream, Range range) {
  if (range.empty()) return {};
  const HostClock& host = impl_->progress.host(call.thread);
  impl_->lives.end_blocks(range);
  impl_->lives.freed.reused(range);
  impl_->lives.prune_retired(host);
  if (const std::optional<Point> at = impl_->progress.point(call, stream)) {
    impl_->checks.check_reuse(at_point(call, at->op, stream, AccessSource::Allocate, range),
                              {at->lane, 0, at->clock, host});
  }
  Allocation& block = impl_->lives.begin_block(call, range);
  block.handed_to = stream;
  return block.info.id;
}

AllocationId Model::block_allocate_without_stream(Call call, Range range) {
  if (range.empty()) return {};
  impl_->lives.end_blocks(range);
  impl_->lives.prune_retired(impl_->progress.host(call.thread));
  Allocation& block = impl_->lives.begin_block(call, range);
  block.without_stream = true;
  // No other life can end here before this one does.
  impl_->lives.retired.for_each([&](const RetiredBlock& life) { block.inherits |= life.info.range.overlaps(range); });
  return block.info.id;
}

void Model::block_free(Call call, std::optional<StreamId> stream, Address base) {
  Allocation* block = block_at(impl_->lives.blocks, base);
  if (!block) return;
  const HostClock& host = impl_->progress.host(call.thread);
  const TwoClocks waited = waited_for(impl_->progress, *block);
  if (const std::optional<Point> at = impl_->progress.point(call, stream)) {
    impl_->checks.check_release(*block, waited, at_point(call, at->op, stream, AccessSource::Free, block->info.range),
                                {at->lane, 0, at->clock, host});
  }
  impl_->lives.retire(*block, waited, call.site, host);
}

void Model::block_free_without_stream(Call call, Address base) {
  Allocation* block = block_at(impl_->lives.blocks, base);
  if (!block) return;
  if (!block->without_stream) return block_free(call, block->handed_to, base);
  impl_->lives.retire(*block, waited_for(impl_->progress, *block), call.site, impl_->progress.host(call.thread));
}

const AllocationInfo* Model::find_block(Address base) const {
  const Allocation* block = block_at(impl_->lives.blocks, base);
  return block ? &block->info : nullptr;
}

void Model::block_use(Call, StreamId stream, Address base) {
  Allocation* block = block_at(impl_->lives.blocks, base);
  if (!block) return;
  std::vector<StreamId>& declared = block->declared;
  if (std::find(declared.begin(), declared.end(), stream) == declared.end()) declared.push_back(stream);
}

}  // namespace streamsan::ordering
