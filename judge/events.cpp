// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes records of events to the model and to the search for misused events; also records of failed calls, of order
// between host threads, and of what the program says of its own run. See judge.h.
#include "judge/judge.h"
#include "ordering/api/results.h"

namespace streamsan::judge {

using ordering::EventId;
using ordering::StreamId;
using ordering::ThreadId;
using trace::Item;
using trace::Record;

namespace {

constexpr std::uint64_t kEventExternal = 1;  // CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL

}  // namespace

void Judge::record_event(const Record& record) {
  StreamId stream = stream_of(record);
  const auto& w = record.as<trace::Kind::EventRecord>();
  EventId event = handles_.event(w.event);
  if (!handles_.recorded(event, stream)) {
    event_misuse_.exempt(event);
    if (w.call_flags & kEventExternal) captured_order_ = "an event that a graph records";
    return;
  }
  const std::optional<ordering::Moment> previous = model_.last_record(event);
  const ordering::Call call = this->call(record);
  const bool by_launch = (record.flags & (trace::kAtStart | trace::kAtTrigger)) != 0;
  const ordering::OpId op = by_launch ? model_.record_by_launch(call, stream, event, ends_first(record, stream))
                                      : model_.record_event(call, stream, event);
  event_misuse_.recorded(event, {.site = call.site, .stream = stream, .op = op, .thread = call.thread}, previous);
  if (!has_own_events_ || record.stack == 0) return;
  if (own_events_.size() >= kMostOwnEvents)
    own_events_.erase(own_events_.begin(), own_events_.begin() + kMostOwnEvents / 2);
  own_events_.push_back({.thread = record.thread, .stack = record.stack, .stream = stream});
}

/// Of an event that a launch records: does the kernel end before it fires, as far as is known?
bool Judge::ends_first(const Record& record, StreamId stream) {
  if (!(record.flags & trace::kAtTrigger)) return false;
  const LaunchedKernel* last = last_kernels_.find(static_cast<std::uint64_t>(stream));
  if (!last || last->index == 0) return true;
  return code_.in_chain(last->index, places_.kernel(last->index), last->hash).trigger != ordering::Trigger::Early;
}

void Judge::wait_event(const Record& record) {
  StreamId stream = stream_of(record);
  const auto& w = record.as<trace::Kind::EventWait>();
  EventId event = handles_.event(w.event);
  if (!handles_.waits(event, stream)) {
    event_misuse_.exempt(event);
    if (w.call_flags & kEventExternal) captured_order_ = "an event that a graph waits for";
    return;
  }
  const ordering::Call call = this->call(record);
  const EventLife* life = handles_.life(event);
  if (life && life->foreign) {
    event_misuse_.exempt(event);
    event_misuse_.work(stream);
    model_.stream_joins_all(call, stream);
  } else {
    const ordering::OpId op = model_.wait_event(call, stream, event);
    event_misuse_.waited(event, {.site = call.site, .stream = stream, .op = op, .thread = call.thread});
  }
}

/// The search for misused events knows of streams only. An event that was recorded unseen: nothing is known of what it
/// stands for, and that the context waits for all work submitted so far says at least as much.
void Judge::context_event(const Record& record) {
  const auto& w = record.as<trace::Kind::ContextEvent>();
  const ordering::Call call = this->call(record);
  const std::vector<ordering::ContextId> contexts = w.alone ? std::vector{handles_.context(w.context, call.thread)}
                                                            : handles_.with_green_contexts(w.context, call.thread);
  EventId event = handles_.event(w.event);
  event_misuse_.exempt(event);
  if (!w.waits) {
    handles_.recorded(event, StreamId{});
    model_.record_event_of(call, contexts, event);
    return;
  }
  if (!handles_.life(event)->foreign) {
    model_.wait_event_by(call, contexts, event);
    return;
  }
  const EventId anything = model_.create_event();
  model_.record_event_of(call, handles_.with_green_contexts(0, call.thread), anything);
  model_.wait_event_by(call, contexts, anything);
  model_.destroy_event(anything);
}

void Judge::sync_event(const Item& item) {
  const Record& record = *item.record;
  EventId event = handles_.event(record.as<trace::Kind::SyncEvent>().event);
  const EventLife* life = handles_.life(event);
  const ordering::Call call = this->call(record);
  if (life && life->foreign) {
    event_misuse_.exempt(event);
    model_.sync_unseen(call, handles_.context(0, call.thread));
  } else {
    model_.sync_event(call, event);
    event_misuse_.waited(event, {.site = call.site, .thread = call.thread, .by_host = true});
  }
  blocks(item);
}

void Judge::query_event(const Record& record) {
  EventId event = handles_.event(record.as<trace::Kind::QueryEvent>().event);
  event_misuse_.queried(event);
  if (!handles_.life(event)->foreign) return model_.query_event_succeeded(call(record), event);
  model_.sync_unseen(call(record), handles_.context(0, ThreadId{record.thread}));
  model_.returned(ThreadId{record.thread}, true);
}

void Judge::thread_order(const Item& item) {
  const auto& w = item.record->as<trace::Kind::ThreadOrder>();
  const ThreadId thread{item.record->thread};
  if (w.hides) model_.thread_hides_order(thread);
  for (const trace::ThreadPosition& known : item.list<trace::Kind::ThreadOrder>()) {
    const auto earlier = static_cast<std::uint16_t>(known.thread);
    if (earlier == kOverflowThread) {
      model_.thread_after_all(thread);
    } else {
      model_.thread_after(thread, ThreadId{earlier}, std::min(known.position, item.position) + 1);
    }
  }
}

void Judge::call_failed(const Record& record) {
  FailedCall failed;
  failed.site = call(record).site;
  failed.row = &row_of(record);
  const auto& w = record.as<trace::Kind::CallFailed>();
  failed.result = static_cast<std::uint32_t>(w.result);
  failed.operations = model_.statistics().operations;
  if (w.stream == trace::kLegacyStream || w.stream == trace::kPerThreadStream) {
    failed.stream = stream_of(record);
  } else {
    failed.stream = handles_.known_stream(w.stream);
  }
  const api::EffectKind kind = failed.row->effect.kind;
  const bool of_event = kind == api::EffectKind::EventRecord || kind == api::EffectKind::EventWait ||
                        kind == api::EffectKind::ContextRecord || kind == api::EffectKind::ContextWait ||
                        kind == api::EffectKind::SyncEvent;
  if (of_event) failed.event = handles_.known_event(w.object);
  if (failed.event) failed.event_life = *handles_.life(*failed.event);
  if (ended_by_.empty() && api::ends_context(failed.result))
    ended_by_ = std::string(failed.row->base) + " failed with " + result_text(failed.result);
  failed_calls_.add(failed);
}

void Judge::mark(const Item& item) {
  const auto& w = item.record->as<trace::Kind::Mark>();
  // A call's moment is its position plus one.
  hazards_.marks().add(w.level, item.position + 1, trace::payload_text(item.payload, 0, w.name_bytes));
}

void Judge::host_waits(const Item& item) {
  const Record& record = *item.record;
  const auto& w = record.as<trace::Kind::HostWaits>();
  if (w.state.raw > static_cast<std::uint64_t>(trace::HostWaitsState::Allowed)) return;
  hidden_syncs_.say(record.thread, w.state,
                    record.stack ? places_.site_outside(SiteKind::Pool, "", record.stack) : ordering::kNoSite);
}

}  // namespace streamsan::judge
