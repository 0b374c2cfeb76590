// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How allocations begin and end.
//
// An allocation's end is a write of all its bytes: by the host at the call for a classic free or an unmap, by an
// operation of the stream for a stream-ordered free. Everything earlier must be before it by the documented clock; what
// cudaFree is known to wait for counts in the assumed clock only (R-ALC-02, R-ALC-05), so relying on it is latent.
// Blocks that a pool handed out of the allocation end with it.
#include "ordering/model_impl.h"

namespace streamsan::ordering {
namespace {

/// The rule by which freeing such memory is assumed to wait for the context; none: it does not.
std::optional<Rule> free_waits_by(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device:
    case MemoryKind::Managed:
      return Rule::ALC_02;
    case MemoryKind::Pinned:
    case MemoryKind::Registered:
      return Rule::ALC_05;
    case MemoryKind::DeviceAsync:  // R-ALC-03
    case MemoryKind::Pageable:
      return std::nullopt;
  }
  return std::nullopt;
}

/// Can a pointer to such memory, once freed, be distinguished from one that was handed out again? See freed_lives.h.
bool leaves_a_stale_pointer(MemoryKind kind) { return is_on_device(kind); }

Access free_access(Call call, OpId op, Range range) {
  return {.op = op,
          .site = call.site,
          .thread = call.thread,
          .mode = AccessMode::Write,
          .source = AccessSource::Free,
          .on_stream = false,
          .range = range};
}

}  // namespace

void Model::Impl::check_end(Allocation& allocation, const Access& free, const Actor& actor) {
  const Range whole = allocation.info.range;
  const Part all{&allocation, whole, AccessMode::Write};
  check(free, {&all, 1}, actor);
  if (blocks.live() > 0) {
    for (Allocation* block = blocks.find_first_ending_after(whole.begin); block && block->info.range.overlaps(whole);
         block = blocks.find_first_ending_after(block->info.range.end)) {
      const Part part{block, block->info.range, AccessMode::Write};
      check(free, {&part, 1}, actor);
    }
  }
  if (retired.empty()) return;
  Access of_all = free;
  of_all.range = whole;
  retired.for_each_in(whole, [&](const RetiredBlock& life) { collect_retired(life, allocation.info, of_all, actor); });
  report(actor);
}

void Model::Impl::end(Allocation& allocation) {
  const Range whole = allocation.info.range;
  end_blocks(whole);
  retired.drop_if([&](const RetiredBlock& life) { return life.info.range.overlaps(whole); }, pool, shadow);
  allocation.shadow.clear(pool, shadow);
  allocations.remove(allocation);
}

void Model::Impl::end_overlapping(Range range) {
  for (Allocation* old = allocations.find_first_ending_after(range.begin); old && old->info.range.overlaps(range);
       old = allocations.find_first_ending_after(range.begin)) {
    end(*old);
  }
  end_blocks(range);
  retired.drop_if([&](const RetiredBlock& life) { return life.info.range.overlaps(range); }, pool, shadow);
  freed.reused(range);
}

AllocationId Model::allocate(Call call, Range range, MemoryKind kind, std::optional<ContextId> context) {
  if (range.empty()) return {};
  impl_->end_overlapping(range);
  Allocation& allocation = impl_->allocations.add(impl_->next_allocation(), range, kind);
  allocation.info.site = call.site;
  allocation.info.thread = call.thread;
  allocation.info.context = context;
  if (context) impl_->contexts.index_of(*context);  // it is there
  return allocation.info.id;
}

AllocationId Model::allocate_async(Call call, StreamId stream, Range range, bool on_its_device) {
  Lane* lane = impl_->lane(stream);
  if (!lane || range.empty()) return {};
  const OpId op = impl_->begin(call, *lane, LegacyRole::NoAction);
  const std::optional<ContextId> context = impl_->contexts[lane->context].id;
  const AllocationId id = allocate(call, range, MemoryKind::DeviceAsync, on_its_device ? context : std::nullopt);
  Allocation& allocation = *impl_->allocations.find(range.begin);
  allocation.info.op = op;
  allocation.shadow.born({lane->slot, lane->last,
                          Access{.op = op,
                                 .site = call.site,
                                 .stream = stream,
                                 .thread = call.thread,
                                 .mode = AccessMode::Write,
                                 .source = AccessSource::Allocate,
                                 .range = range}});
  ++impl_->accesses;
  return id;
}

void Model::free(Call call, ContextId context, Address base) {
  HostThread& thread = impl_->calling(call);
  impl_->arrive(call);
  Allocation* allocation = impl_->allocations.find(base);
  if (!allocation || allocation->info.range.begin != base) {
    const FreedLife* life = allocation ? nullptr : impl_->freed.find(base);
    if (life && life->info.range.begin == base) {
      thread.pending.second_free = free_access(call, impl_->next_op(), life->info.range);
    }
    return;
  }
  const OpId op = impl_->next_op();
  TwoClocks clock = thread.host->clock;
  const std::optional<Rule> waits_by = free_waits_by(allocation->info.kind);
  if (waits_by) {
    const ContextId waited_for = allocation->info.context.value_or(context);
    const TwoClocks& everything = impl_->contexts.everything(impl_->contexts.index_of(waited_for));
    clock.assumed.join(everything.assumed);
    thread.pending.active = true;
    thread.pending.leaned_on = waits_by;
    thread.pending.learns.documented.clear();
    thread.pending.learns.assumed = everything.assumed;
  }
  const Access access = free_access(call, op, allocation->info.range);
  impl_->check_end(*allocation, access, {thread.host->lane, 0, clock, *thread.host, waits_by});
  if (leaves_a_stale_pointer(allocation->info.kind)) thread.pending.ended = {allocation->info, access};
  impl_->end(*allocation);
}

OpId Model::free_async(Call call, StreamId stream, Address base) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  Allocation* allocation = impl_->allocations.find(base);
  Access access = free_access(call, op, {base, base + 1});
  access.stream = stream;
  access.on_stream = true;
  if (!allocation) impl_->report_second_free(access);
  if (!allocation || allocation->info.range.begin != base) return op;
  access.range = allocation->info.range;
  impl_->check_end(*allocation, access, {lane->slot, lane->last, lane->clock, impl_->host(call.thread)});
  const AllocationInfo info = allocation->info;
  impl_->end(*allocation);
  if (leaves_a_stale_pointer(info.kind)) impl_->freed.add(info, access);
  return op;
}

void Model::unmap(Call call, ContextId, Range range) {
  HostThread& thread = impl_->calling(call);
  impl_->arrive(call);
  const OpId op = impl_->next_op();
  Allocation* allocation = impl_->allocations.find_first_ending_after(range.begin);
  while (allocation && allocation->info.range.begin < range.end) {
    const Range whole = allocation->info.range;
    if (range.contains(whole)) {
      impl_->check_end(*allocation, free_access(call, op, whole),
                       {thread.host->lane, 0, thread.host->clock, *thread.host});
      impl_->end(*allocation);
    }
    allocation = impl_->allocations.find_first_ending_after(whole.end);
  }
}

const AllocationInfo* Model::find_allocation(Address address) const {
  const Allocation* allocation = impl_->allocations.find_uncached(address);
  if (!allocation) allocation = impl_->blocks.find_uncached(address);
  return allocation ? &allocation->info : nullptr;
}

}  // namespace streamsan::ordering
