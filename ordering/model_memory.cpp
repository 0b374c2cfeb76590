// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How allocations begin and end.
//
// An allocation's end is a write of all its bytes: by the host at the call for a classic free or an unmap, by an
// operation of the stream for a stream-ordered free. Everything earlier must be before it by the documented clock; what
// cudaFree is known to wait for counts in the assumed clock only (R-ALC-02, R-ALC-05), so relying on it is latent.
// Blocks that a pool handed out of the allocation end with it.
//
// What the host does to memory: touches it, and frees memory that no CUDA function gave.
//
// A touch is an access of the host thread, at what the thread knows. Of most touches only the first byte is known.
// A free of memory that is registered, or that copies borrowed, must come after their end like every free. libc knows
// nothing of GPUs and waits for nothing, so nothing is assumed but what copies themselves are known to do.
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
    case MemoryKind::Array:
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

AllocationId Model::allocate(Call call, Range range, MemoryKind kind, std::optional<ContextId> context) {
  if (range.empty()) return {};
  impl_->lives.end_overlapping(range);
  Allocation& allocation = impl_->lives.allocations.add(impl_->lives.next_allocation(), range, kind);
  allocation.info.site = call.site;
  allocation.info.thread = call.thread;
  allocation.info.context = context;
  if (context) impl_->progress.contexts.index_of(*context);  // it is there
  return allocation.info.id;
}

AllocationId Model::Impl::begin_life(Call call, const Lane& lane, OpId op, Range range, bool on_its_device) {
  const ContextId context = progress.contexts[lane.context].id;
  lives.end_overlapping(range);
  Allocation& allocation = lives.allocations.add(lives.next_allocation(), range, MemoryKind::DeviceAsync);
  allocation.info.site = call.site;
  allocation.info.thread = call.thread;
  allocation.info.op = op;
  if (on_its_device) allocation.info.context = context;
  allocation.shadow.born({lane.slot, lane.last,
                          Access{.op = op,
                                 .site = call.site,
                                 .stream = lane.stream,
                                 .thread = call.thread,
                                 .mode = AccessMode::Write,
                                 .source = AccessSource::Allocate,
                                 .range = range,
                                 .moment = progress.moment}});
  ++checks.accesses;
  return allocation.info.id;
}

AllocationId Model::allocate_async(Call call, StreamId stream, Range range, bool on_its_device) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane || range.empty()) return {};
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::NoAction);
  return impl_->begin_life(call, *lane, op, range, on_its_device);
}

void Model::free(Call call, ContextId context, Address base) {
  HostThread& thread = impl_->progress.calling(call);
  impl_->progress.arrive(call);
  Allocation* allocation = impl_->lives.allocations.find(base);
  if (!allocation || allocation->info.range.begin != base) {
    const FreedLife* life = allocation ? nullptr : impl_->lives.freed.find(base);
    if (life && life->info.range.begin == base) {
      thread.pending.second_free = free_access(call, impl_->progress.next_op(), life->info.range);
    }
    return;
  }
  const OpId op = impl_->progress.next_op();
  TwoClocks clock = thread.host->clock;
  const std::optional<Rule> waits_by = free_waits_by(allocation->info.kind);
  if (waits_by) {
    const ContextId waited_for = allocation->info.context.value_or(context);
    const TwoClocks& everything = impl_->progress.contexts.everything(impl_->progress.contexts.index_of(waited_for));
    clock.assumed.join(everything.assumed);
    thread.pending.active = true;
    thread.pending.leaned_on = waits_by;
    thread.pending.learns.documented.clear();
    thread.pending.learns.assumed = everything.assumed;
  }
  const Access access = free_access(call, op, allocation->info.range);
  impl_->checks.check_end(*allocation, access, {thread.host->lane, 0, clock, *thread.host, waits_by});
  if (leaves_a_stale_pointer(allocation->info.kind)) thread.pending.ended = {allocation->info, access};
  impl_->lives.end(*allocation);
}

void Model::Impl::end_life(Access access, const Actor& actor, Address base) {
  Allocation* allocation = lives.allocations.find(base);
  if (!allocation) checks.report_second_free(access);
  if (!allocation || allocation->info.range.begin != base) return;
  access.range = allocation->info.range;
  checks.check_end(*allocation, access, actor);
  const AllocationInfo info = allocation->info;
  lives.end(*allocation);
  if (leaves_a_stale_pointer(info.kind)) lives.freed.add(info, access);
}

OpId Model::free_async(Call call, StreamId stream, Address base) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  Access access = free_access(call, op, {base, base + 1});
  access.stream = stream;
  access.on_stream = true;
  impl_->end_life(access, {lane->slot, lane->last, lane->clock, impl_->progress.host(call.thread)}, base);
  return op;
}

void Model::unmap(Call call, ContextId, Range range) {
  HostThread& thread = impl_->progress.calling(call);
  impl_->progress.arrive(call);
  const OpId op = impl_->progress.next_op();
  Allocation* allocation = impl_->lives.allocations.find_first_ending_after(range.begin);
  while (allocation && allocation->info.range.begin < range.end) {
    const Range whole = allocation->info.range;
    if (range.contains(whole)) {
      impl_->checks.check_end(*allocation, free_access(call, op, whole),
                              {thread.host->lane, 0, thread.host->clock, *thread.host});
      impl_->lives.end(*allocation);
    }
    allocation = impl_->lives.allocations.find_first_ending_after(whole.end);
  }
}

namespace {

// With joined threads everything later starts after this: nothing to remember. Where order is seen or perhaps not,
// what comes later and is not after this would be `possible` at most, as the host's touches are over at once.
bool remembers_touches(const Progress& progress) {
  return progress.options.host_threads == Options::HostThreads::Separate;
}

}  // namespace

void Model::Impl::begin_touch(HostClock& host) {
  if (!remembers_touches(progress)) return;
  Lane& lane = progress.lanes[host.lane];
  host.clock.set(lane.slot, ++lane.last);
  ++host.version;
}

void Model::Impl::touch_by_host(const Access& access, Range range, const HostClock& host) {
  const Lane& lane = progress.lanes[host.lane];
  lives.for_each_held(range, [&](Allocation& held_by, Range bytes) {
    if (held_by.info.kind == MemoryKind::Pageable) return;
    const Part part{&held_by, {bytes, access.mode}};
    const Actor actor{
        .lane = lane.slot, .epoch = lane.last, .clock = host.clock, .host = host, .out_of_order = access.on_stream};
    if (remembers_touches(progress)) {
      checks.touch(access, {&part, 1}, actor);
    } else {
      checks.check(access, {&part, 1}, actor);
    }
  });
}

void Model::host_access(Call call, Range range, AccessMode mode) {
  impl_->progress.arrive(call);
  HostClock& host = impl_->progress.host(call.thread);
  const Access access{.op = impl_->progress.next_op(),
                      .site = call.site,
                      .thread = call.thread,
                      .mode = mode,
                      .source = AccessSource::Host,
                      .on_stream = false};
  impl_->begin_touch(host);
  impl_->lives.freed.reused(range);
  impl_->touch_by_host(access, range, host);
}

void Model::host_free(Call call, Range range) {
  if (range.empty()) return;
  impl_->progress.arrive(call);
  const HostClock& host = impl_->progress.host(call.thread);
  const Actor actor{host.lane, 0, host.clock, host};
  const Access access = free_access(call, impl_->progress.next_op(), range);
  impl_->lives.freed.reused(range);
  Allocation* next = impl_->lives.allocations.find_first_ending_after(range.begin);
  while (next && next->info.range.overlaps(range)) {
    const Range whole = next->info.range;
    if (next->info.kind == MemoryKind::Registered || next->info.kind == MemoryKind::Pinned) {
      if (range.contains(whole)) {
        impl_->checks.check_end(*next, access, actor);
      } else {
        const Part gone{next, {intersection(range, whole), AccessMode::Write}};
        impl_->checks.check(access, {&gone, 1}, actor);
      }
      // Pinned memory has a free of its own, which may be what this is part of.
      if (range.contains(whole) && next->info.kind == MemoryKind::Registered) impl_->lives.end(*next);
    }
    next = impl_->lives.allocations.find_first_ending_after(whole.end);
  }
  impl_->checks.check_loans(access, actor);
}

void Model::sync_memory(Address address, bool on) {
  if (Allocation* allocation = impl_->lives.allocations.find(address)) allocation->info.syncs = on;
}

void Model::forget_freed(Range range) { impl_->lives.freed.reused(range); }

void Model::visit_memory(Range range, const std::function<void(const AllocationInfo&)>& visit) const {
  for (const Allocations* all : {&impl_->lives.allocations, &impl_->lives.blocks}) {
    const Allocation* each = all->find_first_ending_after(range.begin);
    for (; each && each->info.range.begin < range.end; each = all->find_first_ending_after(each->info.range.end))
      visit(each->info);
  }
}

const AllocationInfo* Model::find_allocation(Address address) const {
  const Allocation* allocation = impl_->lives.allocations.find_uncached(address);
  if (!allocation) allocation = impl_->lives.blocks.find_uncached(address);
  return allocation ? &allocation->info : nullptr;
}

MemoryKind Model::kind_at(Address address) const { return impl_->lives.kind_at(address); }

}  // namespace streamsan::ordering
