// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that only order: streams and events come and go, synchronisations, queries, and what annotations say.
//
// Destroying either is no synchronisation (R-STR-30, R-EVT-11): a stream's pending work stays in the gathered clocks of
// its context, so that a later legacy action or context synchronisation still covers it (R-STR-20), and waits already
// enqueued have taken what they need from an event.
//
// A blocking call covers what was submitted before it, and the host knows so when it returns. Other threads may submit
// in between, so the snapshot is taken at the call and joined at the return.
#include "ordering/model_impl.h"

namespace streamsan::ordering {
namespace {

void expect(Pending& pending, const TwoClocks& covered) {
  pending.active = true;
  pending.leaned_on.reset();
  pending.learns = covered;
}

}  // namespace

Model::Model(Options options, HazardSink& sink, const WhatIf* what_if)
    : impl_(std::make_unique<Impl>(options, sink, what_if)) {}
Model::~Model() = default;

Statistics Model::statistics() const {
  return {.operations = impl_->progress.last_op,
          .accesses = impl_->checks.accesses,
          .hazards = impl_->checks.hazards,
          .live_allocations = impl_->lives.allocations.live() + impl_->lives.blocks.live(),
          .live_streams = impl_->progress.streams.size(),
          .shadow_entries = impl_->lives.shadow.entries,
          .comparisons = impl_->lives.pool.rows.compared(),
          .forgotten = impl_->lives.shadow.forgotten + impl_->lives.pool.rows.given_up(),
          .device_waits = impl_->device_waits,
          .idle_device_waits = impl_->idle_device_waits};
}

void Model::end_of_trace() {
  if (impl_->progress.variants) impl_->progress.end_of_trace();
}

StreamId Model::create_stream(ContextId context, StreamKind kind) {
  return impl_->progress.open_stream(context, kind, ThreadId{});
}

StreamId Model::legacy_stream(ContextId context) {
  const LaneSlot slot = impl_->progress.contexts[impl_->progress.contexts.index_of(context)].legacy;
  if (slot != Context::kNone) return impl_->progress.lanes[slot].stream;
  return impl_->progress.open_stream(context, StreamKind::Legacy, ThreadId{});
}

StreamId Model::per_thread_stream(ContextId context, ThreadId thread) {
  const std::uint32_t index = impl_->progress.contexts.index_of(context);
  const auto key = static_cast<std::uint64_t>(thread);
  if (const StreamId* known = impl_->progress.contexts[index].per_thread.find(key)) return *known;
  const StreamId stream = impl_->progress.open_stream(context, StreamKind::PerThread, thread);
  impl_->progress.contexts[index].per_thread[key] = stream;
  return stream;
}

void Model::destroy_stream(StreamId stream) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane || lane->kind == StreamKind::Legacy) return;
  impl_->progress.contexts.leave(*lane);
  impl_->lives.blocks.for_each([&](Allocation& block) {
    if (std::erase(block.declared, stream) > 0) block.waited.join(lane->clock);
  });
  if (lane->kind == StreamKind::PerThread) {
    impl_->progress.contexts[lane->context].per_thread.erase(static_cast<std::uint64_t>(lane->thread));
  }
  impl_->progress.lanes.retire(lane->slot);
  impl_->progress.streams.erase(static_cast<std::uint64_t>(stream));
}

StreamKind Model::kind_of(StreamId stream) const {
  const Lane* lane = impl_->progress.lane(stream);
  return lane ? lane->kind : StreamKind::NonBlocking;
}

EventId Model::create_event(EventTiming timing) {
  const EventId event{++impl_->progress.last_event};
  impl_->progress.events[impl_->progress.last_event] = Event{.timing = timing};
  return event;
}

void Model::destroy_event(EventId event) { impl_->progress.events.erase(static_cast<std::uint64_t>(event)); }

OpId Model::record_event(Call call, StreamId stream, EventId event_id) {
  Lane* lane = impl_->progress.lane(stream);
  Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!lane || !event) return kNoOp;
  const OpId op = impl_->progress.begin_record(call, *lane, event->timing);
  event->recorded = true;
  event->captured = lane->clock;
  event->source = stream;
  event->source_slot = lane->slot;
  event->record = {event_id, op, call.site, lane->last, lane->work};
  lane->history.recorded(event->record);
  return op;
}

OpId Model::record_by_launch(Call call, StreamId stream, EventId event_id, bool ends_first) {
  Lane* lane = impl_->progress.lane(stream);
  Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!lane || !event) return kNoOp;
  const Epoch kernel = lane->chain.last().epoch;
  if (kernel == 0 || kernel != lane->last || impl_->progress.variants) return record_event(call, stream, event_id);
  // No operation of the stream: what is behind the kernel may overlap it all the same.
  const OpId op = impl_->progress.next_op();
  event->recorded = true;
  event->captured = lane->clock;
  event->captured.documented.set(lane->slot, kernel - 1);
  if (ends_first) {
    VectorClock kernels;
    kernels.set(lane->slot, kernel);
    impl_->progress.assumptions.note(Rule::LCH_03, kernels);
  } else {
    event->captured.assumed.set(lane->slot, kernel - 1);
  }
  event->source = stream;
  event->source_slot = lane->slot;
  event->record = {event_id, op, call.site, kernel, lane->work, true};
  lane->history.recorded(event->record);
  return op;
}

OpId Model::wait_event(Call call, StreamId stream, EventId event_id) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) {
    // R-EVT-04: no operation of the stream, which it would put behind the legacy stream and between two kernels.
    const OpId op = impl_->progress.next_op();
    lane->history.last_empty_wait = {event_id, op, call.site, lane->last, {}};
    return op;
  }
  const OpId op = impl_->progress.begin_event_call(call, *lane, LegacyRole::Action);
  // Whoever knows the record's epoch got it together with everything the record captured.
  const bool known = lane->clock.documented.covers(event->source_slot, event->record.epoch) &&
                     lane->clock.assumed.covers(event->source_slot, event->record.epoch);
  if (!known) lane->clock.join(event->captured);
  lane->history.waited(event->source_slot, {event->source, event->record, op, call.site});
  return op;
}

OpId Model::record_event_of(Call call, std::span<const ContextId> contexts, EventId event_id) {
  if (contexts.empty() || !impl_->progress.events.find(static_cast<std::uint64_t>(event_id))) return kNoOp;
  TwoClocks all;
  for (const ContextId context : contexts)
    all.join(impl_->progress.contexts.everything(impl_->progress.contexts.index_of(context)));
  Lane& lane = impl_->progress.recorder_of(contexts.front());
  const OpId op = record_event(call, lane.stream, event_id);
  lane.clock.join(all);
  impl_->progress.events.find(static_cast<std::uint64_t>(event_id))->captured.join(all);
  return op;
}

OpId Model::wait_event_by(Call, std::span<const ContextId> contexts, EventId event_id) {
  const OpId op = impl_->progress.next_op();
  const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) return op;  // R-EVT-04
  for (const ContextId context : contexts)
    impl_->progress.contexts.wait(impl_->progress.contexts.index_of(context), event->captured);
  return op;
}

void Model::sync_stream(Call call, StreamId stream) {
  Pending& pending = impl_->progress.calling(call).pending;
  if (const Lane* lane = impl_->progress.lane(stream)) expect(pending, impl_->progress.contexts.covered_by(*lane));
}

void Model::sync_event(Call call, EventId event_id) {
  Pending& pending = impl_->progress.calling(call).pending;
  const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) return;
  expect(pending, event->captured);
  pending.event_wait =
      EventWait{event->source_slot, {event->source, event->record, OpId{impl_->progress.last_op}, call.site}};
}

void Model::sync_context(Call call, ContextId context) {
  HostThread& thread = impl_->progress.calling(call);
  const std::uint32_t index = impl_->progress.contexts.index_of(context);
  expect(thread.pending, impl_->progress.contexts.everything(index));
  thread.pending.device_wait = DeviceWait{OpId{impl_->progress.last_op}, call.site, context, index};
}

void Model::sync_unseen(Call call, ContextId context) {
  expect(impl_->progress.calling(call).pending,
         impl_->progress.contexts.everything(impl_->progress.contexts.index_of(context)));
}

void Model::query_stream_succeeded(Call call, StreamId stream) {
  const Lane* lane = impl_->progress.lane(stream);
  if (!lane) return;
  HostClock& host = impl_->progress.host(call.thread);
  const TwoClocks covered = impl_->progress.contexts.covered_by(*lane);
  if (!impl_->progress.knew(host, covered)) impl_->progress.learn(host, covered);
}

void Model::query_event_succeeded(Call call, EventId event_id) {
  const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) return;
  HostClock& host = impl_->progress.host(call.thread);
  if (!impl_->progress.knew(host, event->captured)) impl_->progress.learn(host, event->captured);
}

void Model::returned(ThreadId thread_id, bool ok) {
  HostThread& thread = impl_->progress.thread(thread_id);
  const Pending& pending = thread.pending;
  if (ok && pending.active && pending.device_wait && impl_->progress.last_op != 0) {
    ++impl_->device_waits;
    impl_->idle_device_waits += pending.learns.within(thread.host->clock);
  }
  if (ok && pending.active) {
    if (pending.leaned_on) impl_->progress.assumptions.note(*pending.leaned_on, pending.learns.assumed);
    if (impl_->progress.variants) {
      impl_->progress.learn_at(pending.site, *thread.host, pending.learns);
    } else {
      impl_->progress.learn(*thread.host, pending.learns);
    }
  }
  if (ok && pending.device_wait) thread.device_wait = *pending.device_wait;
  if (ok && pending.event_wait) {
    impl_->progress.lanes[thread.host->lane].history.waited(pending.event_wait->source_slot, pending.event_wait->wait);
  }
  if (ok && pending.ended) impl_->lives.keep_freed(*pending.ended);
  if (ok && pending.second_free) impl_->checks.report_second_free(*pending.second_free);
  impl_->progress.calling({.thread = thread_id});
}

void Model::signal(Call call, std::optional<StreamId> stream, std::uint64_t object) {
  if (!stream) return impl_->progress.objects.at(object).join(impl_->progress.host(call.thread).clock);
  Lane* lane = impl_->progress.lane(*stream);
  if (!lane) return;
  impl_->progress.begin(call, *lane, LegacyRole::NoAction);
  impl_->progress.objects.at(object).join(lane->clock);
}

void Model::await(Call call, std::optional<StreamId> stream, std::uint64_t object) {
  const TwoClocks& signalled = impl_->progress.objects.of(object);
  if (!stream) return impl_->progress.learn(impl_->progress.host(call.thread), signalled);
  Lane* lane = impl_->progress.lane(*stream);
  if (!lane) return;
  impl_->progress.begin(call, *lane, LegacyRole::NoAction);
  lane->clock.join(signalled);
}

AllocationId Model::block_allocate(Call call, std::optional<StreamId> stream, Range range) {
  return impl_->blocks.allocate(call, stream, range);
}

AllocationId Model::block_allocate_without_stream(Call call, Range range) {
  return impl_->blocks.allocate_without_stream(call, range);
}

void Model::block_free(Call call, std::optional<StreamId> stream, Address base) {
  impl_->blocks.free(call, stream, base);
}

void Model::block_free_unchecked(Call call, Address base) { impl_->blocks.free_unchecked(call, base); }
void Model::block_free_without_stream(Call call, Address base) { impl_->blocks.free_without_stream(call, base); }

void Model::forget_blocks(Range range) { impl_->lives.end_blocks(range); }

void Model::block_use(Call, StreamId stream, Address base) { impl_->blocks.use(stream, base); }

const AllocationInfo* Model::find_block(Address base) const { return impl_->blocks.find(base); }

void Model::at(std::uint64_t moment) { impl_->progress.moment = moment; }

void Model::thread_after(ThreadId later, ThreadId earlier, std::uint64_t moment) {
  if (impl_->progress.sees_threads()) impl_->progress.after(later, earlier, moment);
}

void Model::thread_after_all(ThreadId later) {
  if (impl_->progress.sees_threads()) impl_->progress.after_all(later);
}

void Model::thread_hides_order(ThreadId thread) { impl_->progress.thread(thread).hides_order = true; }

std::optional<Moment> Model::last_record(EventId event_id) const {
  const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) return std::nullopt;
  return Moment{event->source_slot, event->record.epoch};
}

std::optional<Moment> Model::last_operation(StreamId stream) const {
  const Lane* lane = impl_->progress.lane(stream);
  if (!lane || lane->last == lane->before_first) return std::nullopt;
  return Moment{lane->slot, lane->last};
}

bool Model::is_after(StreamId stream, Moment moment) const {
  const Lane* lane = impl_->progress.lane(stream);
  if (!lane) return false;
  if (lane->slot == moment.lane || lane->clock.documented[moment.lane] >= moment.epoch) return true;
  return impl_->progress.known_to_another(moment.lane, moment.epoch);
}

bool Model::is_after(ThreadId thread, Moment moment) const {
  const HostClock& host = impl_->progress.host(thread);
  return impl_->progress.known_if_joined(host).documented[moment.lane] >= moment.epoch;
}

}  // namespace streamsan::ordering
