// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that only order: events, synchronisations, queries, and what annotations say.
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

OpId Model::record_event(Call call, StreamId stream, EventId event_id) {
  Lane* lane = impl_->lane(stream);
  Event* event = impl_->events.find(static_cast<std::uint64_t>(event_id));
  if (!lane || !event) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  event->recorded = true;
  event->captured = lane->clock;
  event->source = stream;
  event->source_slot = lane->slot;
  event->record = {event_id, op, call.site, lane->last};
  lane->history.recorded(event->record);
  return op;
}

OpId Model::wait_event(Call call, StreamId stream, EventId event_id) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const Event* event = impl_->events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) {
    const OpId op = impl_->begin(call, *lane, LegacyRole::NoAction);
    lane->history.last_empty_wait = {event_id, op, call.site, lane->last};
    return op;
  }
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  // A clock that covers the record's epoch also covers everything that the record captured, as it got both together.
  const bool known = lane->clock.documented.covers(event->source_slot, event->record.epoch) &&
                     lane->clock.assumed.covers(event->source_slot, event->record.epoch);
  if (!known) lane->clock.join(event->captured);
  lane->history.waited(event->source_slot, {event->source, event->record, op, call.site});
  return op;
}

void Model::sync_stream(Call call, StreamId stream) {
  Pending& pending = impl_->calling(call).pending;
  if (const Lane* lane = impl_->lane(stream)) expect(pending, impl_->contexts.covered_by(*lane));
}

void Model::sync_event(Call call, EventId event_id) {
  Pending& pending = impl_->calling(call).pending;
  const Event* event = impl_->events.find(static_cast<std::uint64_t>(event_id));
  if (event && event->recorded) expect(pending, event->captured);
}

void Model::sync_context(Call call, ContextId context) {
  HostThread& thread = impl_->calling(call);
  const std::uint32_t index = impl_->contexts.index_of(context);
  expect(thread.pending, impl_->contexts.everything(index));
  thread.pending.device_wait = DeviceWait{OpId{impl_->last_op}, call.site, context, index};
}

void Model::sync_unseen(Call call, ContextId context) {
  expect(impl_->calling(call).pending, impl_->contexts.everything(impl_->contexts.index_of(context)));
}

void Model::query_stream_succeeded(Call call, StreamId stream) {
  const Lane* lane = impl_->lane(stream);
  if (!lane) return;
  HostClock& host = impl_->host(call.thread);
  const TwoClocks covered = impl_->contexts.covered_by(*lane);
  if (!impl_->knew(host, covered)) impl_->learn(host, covered);
}

void Model::query_event_succeeded(Call call, EventId event_id) {
  const Event* event = impl_->events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) return;
  HostClock& host = impl_->host(call.thread);
  if (!impl_->knew(host, event->captured)) impl_->learn(host, event->captured);
}

void Model::returned(ThreadId thread_id, bool ok) {
  HostThread& thread = impl_->thread(thread_id);
  const Pending& pending = thread.pending;
  if (ok && pending.active) {
    if (pending.leaned_on) impl_->assumptions.note(*pending.leaned_on, pending.learns.assumed);
    if (impl_->variants) {
      impl_->learn_at(pending.site, *thread.host, pending.learns);
    } else {
      impl_->learn(*thread.host, pending.learns);
    }
  }
  if (ok && pending.device_wait) thread.device_wait = *pending.device_wait;
  if (ok && pending.ended) impl_->keep_freed(*pending.ended);
  if (ok && pending.second_free) impl_->report_second_free(*pending.second_free);
  impl_->calling({.thread = thread_id});
}

void Model::signal(Call call, std::optional<StreamId> stream, std::uint64_t object) {
  if (!stream) return impl_->objects.at(object).join(impl_->host(call.thread).clock);
  Lane* lane = impl_->lane(*stream);
  if (!lane) return;
  impl_->begin(call, *lane, LegacyRole::NoAction);
  impl_->objects.at(object).join(lane->clock);
}

void Model::await(Call call, std::optional<StreamId> stream, std::uint64_t object) {
  const TwoClocks& signalled = impl_->objects.of(object);
  if (!stream) return impl_->learn(impl_->host(call.thread), signalled);
  Lane* lane = impl_->lane(*stream);
  if (!lane) return;
  impl_->begin(call, *lane, LegacyRole::NoAction);
  lane->clock.join(signalled);
}

std::optional<Moment> Model::last_record(EventId event_id) const {
  const Event* event = impl_->events.find(static_cast<std::uint64_t>(event_id));
  if (!event || !event->recorded) return std::nullopt;
  return Moment{event->source_slot, event->record.epoch};
}

std::optional<Moment> Model::last_operation(StreamId stream) const {
  const Lane* lane = impl_->lane(stream);
  if (!lane || lane->last == lane->before_first) return std::nullopt;
  return Moment{lane->slot, lane->last};
}

bool Model::is_after(StreamId stream, Moment moment) const {
  const Lane* lane = impl_->lane(stream);
  return lane && (lane->slot == moment.lane || lane->clock.documented[moment.lane] >= moment.epoch);
}

bool Model::is_after(ThreadId thread, Moment moment) const {
  return impl_->host(thread).clock.documented[moment.lane] >= moment.epoch;
}

}  // namespace streamsan::ordering
