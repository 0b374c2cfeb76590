// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations live and die.
//
// An allocation's end is a write of all its bytes: by the host at the call for a classic free or an unmap, by an
// operation of the stream for a stream-ordered free. Everything earlier must be before it by the documented clock; what
// cudaFree is known to wait for counts in the assumed clock only (R-ALC-02, R-ALC-05), so relying on it is latent.
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

Access free_access(Call call, OpId op, const Allocation& allocation) {
  return {.op = op,
          .site = call.site,
          .thread = call.thread,
          .mode = AccessMode::Write,
          .source = AccessSource::Free,
          .on_stream = false,
          .range = allocation.info.range};
}

}  // namespace

void Model::Impl::end(Allocation& allocation) {
  allocation.shadow.clear(pool, shadow);
  allocations.remove(allocation);
}

void Model::Impl::end_overlapping(Range range) {
  for (Allocation* old = allocations.find_first_ending_after(range.begin); old && old->info.range.overlaps(range);
       old = allocations.find_first_ending_after(range.begin)) {
    end(*old);
  }
}

AllocationId Model::allocate(Call call, Range range, MemoryKind kind) {
  if (range.empty()) return {};
  impl_->end_overlapping(range);
  Allocation& allocation = impl_->allocations.add(range, kind);
  allocation.info.site = call.site;
  allocation.info.thread = call.thread;
  return allocation.info.id;
}

AllocationId Model::allocate_async(Call call, StreamId stream, Range range) {
  Lane* lane = impl_->lane(stream);
  if (!lane || range.empty()) return {};
  const OpId op = impl_->begin(call, *lane, LegacyRole::NoAction);
  const AllocationId id = allocate(call, range, MemoryKind::DeviceAsync);
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
  HostThread& thread = impl_->thread(call.thread);
  thread.pending.active = false;
  Allocation* allocation = impl_->allocations.find(base);
  if (!allocation || allocation->info.range.begin != base) return;
  const OpId op = impl_->next_op();
  TwoClocks clock = thread.host->clock;
  const std::optional<Rule> waits_by = free_waits_by(allocation->info.kind);
  if (waits_by) {
    const TwoClocks& everything = impl_->contexts.everything(impl_->contexts.index_of(context));
    clock.assumed.join(everything.assumed);
    thread.pending.active = true;
    thread.pending.leaned_on = waits_by;
    thread.pending.learns.documented.clear();
    thread.pending.learns.assumed = everything.assumed;
  }
  const Part all{allocation, allocation->info.range, AccessMode::Write};
  impl_->check(free_access(call, op, *allocation), {&all, 1}, {thread.host->lane, 0, clock, *thread.host, waits_by});
  impl_->end(*allocation);
}

OpId Model::free_async(Call call, StreamId stream, Address base) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  Allocation* allocation = impl_->allocations.find(base);
  if (!allocation || allocation->info.range.begin != base) return op;
  Access access = free_access(call, op, *allocation);
  access.stream = stream;
  access.on_stream = true;
  const Part all{allocation, allocation->info.range, AccessMode::Write};
  impl_->check(access, {&all, 1}, {lane->slot, lane->last, lane->clock, impl_->host(call.thread)});
  impl_->end(*allocation);
  return op;
}

void Model::unmap(Call call, ContextId, Range range) {
  HostThread& thread = impl_->thread(call.thread);
  thread.pending.active = false;
  const OpId op = impl_->next_op();
  Allocation* allocation = impl_->allocations.find_first_ending_after(range.begin);
  while (allocation && allocation->info.range.begin < range.end) {
    const Range whole = allocation->info.range;
    if (range.contains(whole)) {
      const Part all{allocation, whole, AccessMode::Write};
      impl_->check(free_access(call, op, *allocation), {&all, 1},
                   {thread.host->lane, 0, thread.host->clock, *thread.host});
      impl_->end(*allocation);
    }
    allocation = impl_->allocations.find_first_ending_after(whole.end);
  }
}

const AllocationInfo* Model::find_allocation(Address address) const {
  const Allocation* allocation = impl_->allocations.find_uncached(address);
  return allocation ? &allocation->info : nullptr;
}

void Model::host_access(Call call, Range range, AccessMode mode) {
  HostClock& host = impl_->host(call.thread);
  Lane& lane = impl_->lanes[host.lane];
  const Access access{.op = impl_->next_op(),
                      .site = call.site,
                      .thread = call.thread,
                      .mode = mode,
                      .source = AccessSource::Host,
                      .on_stream = false};
  // With joined threads everything later starts after this: nothing to remember.
  if (!impl_->joined()) {
    host.clock.set(lane.slot, ++lane.last);
    ++host.version;
  }
  for (Allocation* allocation = impl_->allocations.find_first_ending_after(range.begin);
       allocation && allocation->info.range.overlaps(range);
       allocation = impl_->allocations.find_first_ending_after(allocation->info.range.end)) {
    const Part part{allocation, intersection(range, allocation->info.range), mode};
    const Actor actor{lane.slot, lane.last, host.clock, host};
    if (impl_->joined()) {
      impl_->check(access, {&part, 1}, actor);
    } else {
      impl_->touch(access, {&part, 1}, actor);
    }
  }
}

}  // namespace streamsan::ordering
