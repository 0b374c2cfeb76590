// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host does to memory: touches it, and frees memory that no CUDA function gave.
//
// A touch is an access by the host thread; its place in the order is what the thread knows to be complete. Of most
// touches only the first byte is known. A free of memory that is registered, or that copies borrowed, must come after
// their end like every free. libc does not wait for the GPU, so the only assumed order is that of the copies
// themselves.
#include "ordering/model_impl.h"

namespace streamsan::ordering {

void Model::host_access(Call call, Range range, AccessMode mode) {
  impl_->arrive(call);
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
  impl_->freed.reused(range);
  impl_->for_each_held(range, [&](Allocation& held_by, Range bytes) {
    if (held_by.info.kind == MemoryKind::Pageable) return;
    const Part part{&held_by, bytes, mode};
    const Actor actor{lane.slot, lane.last, host.clock, host};
    if (impl_->joined()) {
      impl_->check(access, {&part, 1}, actor);
    } else {
      impl_->touch(access, {&part, 1}, actor);
    }
  });
}

void Model::host_free(Call call, Range range) {
  if (range.empty()) return;
  impl_->arrive(call);
  const HostClock& host = impl_->host(call.thread);
  const Actor actor{host.lane, 0, host.clock, host};
  const Access access{.op = impl_->next_op(),
                      .site = call.site,
                      .thread = call.thread,
                      .mode = AccessMode::Write,
                      .source = AccessSource::Free,
                      .on_stream = false,
                      .range = range};
  impl_->freed.reused(range);
  Allocation* next = impl_->allocations.find_first_ending_after(range.begin);
  while (next && next->info.range.overlaps(range)) {
    const Range whole = next->info.range;
    if (next->info.kind == MemoryKind::Registered || next->info.kind == MemoryKind::Pinned) {
      if (range.contains(whole)) {
        impl_->check_end(*next, access, actor);
      } else {
        const Part gone{next, intersection(range, whole), AccessMode::Write};
        impl_->check(access, {&gone, 1}, actor);
      }
      // Pinned memory is freed by a CUDA call, and this free may be a part of that call.
      if (range.contains(whole) && next->info.kind == MemoryKind::Registered) impl_->end(*next);
    }
    next = impl_->allocations.find_first_ending_after(whole.end);
  }
  impl_->check_loans(access, actor);
}

void Model::Impl::check_loans(const Access& access, const Actor& actor) {
  loans.take(access.range, [&](const Loan& loan, Range common) {
    const LaneSlot lane = loan.copy.lane;
    const Epoch epoch = loan.copy.epoch;
    const Access& copy = loan.copy.access;
    if (actor.clock.documented.covers(lane, epoch)) return;
    const bool perhaps_told = told.covers(lane, epoch);
    const Certainty certainty = perhaps_told ? Certainty::Possible : Certainty::Certain;
    if (variants) {
      const AllocationInfo borrowed{.range = copy.range, .kind = MemoryKind::Pageable};
      Pair pair{HazardKind::FreeWhileInUse, certainty, copy, access, common, borrowed, {}, {}};
      if (tell_pair(lane, epoch, pair, true, actor.clock) == PairOrder::Ordered) return;
    }
    Conflict* place = place_of(lane, Order::Latent, certainty, copy.op);
    if (!place) return;
    *place = {.lane = lane,
              .epoch = epoch,
              .earlier = copy,
              .later = access,
              .overlap = common,
              .certainty = certainty,
              .perhaps_told = perhaps_told,
              .order = Order::Latent,
              .kind = HazardKind::FreeWhileInUse,
              .allocation = {.range = copy.range, .kind = MemoryKind::Pageable},
              .leaned_on = staged_by(copy)};
  });
  report(actor);
}

}  // namespace streamsan::ordering
