// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effects of events and synchronisation on the order. order_step.h explains it.
#include "analyzer/analysis/order_step.h"

#include <algorithm>

#include "analyzer/ir/hidden.h"

namespace streamsan::analyzer {

using ir::OpKind;

void OrderStep::run() {
  switch (op_.kind) {
    case OpKind::Enqueue:
      return enqueue();
    case OpKind::Record:
      record();
      return full_edge(store_.stream(values_, op_.stream), records_without_timing() ? Behind::Record : Behind::Work);
    case OpKind::Wait:
      wait();
      return full_edge(store_.stream(values_, op_.stream));
    case OpKind::SyncStream:
      return sync_stream(stream());
    case OpKind::SyncEvent:
      return sync_event();
    case OpKind::SyncDevice:
      return sync_device();
    case OpKind::QueryStream:
    case OpKind::QueryEvent:
      return query();
    case OpKind::Elapsed:
      use(store_.evaluate(values_, op_.event));
      use(store_.evaluate(values_, op_.event2));
      return;
    case OpKind::CreateStream:
      order_.quiet_.erase(values_.object(index_));
      return made();
    case OpKind::CreateEvent:
      order_.events_[values_.object(index_)] = {.never = true};
      return made();
    case OpKind::DestroyHandle:
      return destroy();
    case OpKind::Allocate:
      if (op_.stream.kind != ir::Operand::Kind::None) full_edge(store_.stream(values_, op_.stream));
      return allocate();
    case OpKind::Free:
      if (op_.stream.kind != ir::Operand::Kind::None) full_edge(store_.stream(values_, op_.stream));
      return free();
    case OpKind::EndOfLife:
      return forget_memory(span_of(values_, store_.evaluate(values_, op_.source)).memory);
    case OpKind::KeepAlive:
      return keep_alive();
    case OpKind::CaptureBegin:
      order_.capturing_ = Tri::All;
      order_.captured_ = {{stream(), index_}};
      order_.perhaps_forked_ = false;
      order_.made_inside_.clear();
      order_.unjoined_.clear();
      order_.capture_records_.clear();
      return;
    case OpKind::CaptureEnd:
      order_.capturing_ = Tri::No;
      order_.captured_.clear();
      return;
    case OpKind::SwapCaptureMode:
      return swap_capture_mode();
    case OpKind::GroupBegin:
      return group_begin();
    case OpKind::GroupEnd:
      return group_end();
    case OpKind::SetDevice:
      return set_device();
    case OpKind::Escape:
      return escape();
    case OpKind::MaySync:
    case OpKind::Call:
      if (op_.kind == OpKind::Call) order_.opened_.clear();
      order_.quiet_.clear();
      order_.strangers_ = true;
      // The unknown code may have forked a capture, and joined it.
      order_.perhaps_forked_ = true;
      order_.unjoined_.clear();
      // It may have made another device current; that is not expected if this function switches no device.
      if (order_.thread_.device != kFirstDevice) order_.thread_.device = kUnknown;
      return perhaps_host([](const Pending&) { return true; });
    case OpKind::Fresh:
      // An event of another process, opened here: other handles that are not known have no detail.
      if (!op_.detail.empty()) order_.opened_[values_.version(index_)] = index_;
      return;
    case OpKind::Post:
      return post();
    case OpKind::Complete:
      return complete();
    case OpKind::Assign:
      if (ir::is(values_.function()[op_.target], ir::Hidden::Next)) give_back();
      return;
    case OpKind::HostAccess:
    case OpKind::Return:
      return;
  }
}

bool OrderStep::perhaps_recorded(const Pending& p, ValueId event) const {
  return std::ranges::any_of(
      sets_[p.may], [&](std::uint32_t token) { return is_event(token) && values_.may_equal(value_of(token), event); });
}

void OrderStep::barrier(ValueId stream) {
  if (!values_.is_legacy(stream)) return;
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    if (surely(p, stream)) p.must = sets_.add(p.must, stream_token(stream));
    if (perhaps(p, stream)) p.may = sets_.add(p.may, stream_token(stream));
  }
}

void OrderStep::disturb(ValueId stream) {
  if (stream == kUnknown) {
    order_.quiet_.clear();
    return;
  }
  std::erase_if(order_.quiet_, [&](const auto& entry) {
    const ValueId quiet = entry.first;
    if (quiet == kUnknown || values_.may_equal(quiet, stream)) return true;
    return order_.perhaps_meet(values_, quiet, stream) || order_.perhaps_meet(values_, stream, quiet);
  });
}

void OrderStep::use(ValueId event) {
  std::erase_if(order_.opened_, [&](const auto& entry) { return values_.may_equal(entry.first, event); });
  if (const auto it = order_.events_.find(event); it != order_.events_.end()) it->second.used = true;
  for (auto& [other, state] : order_.events_)
    if (values_.may_equal(other, event)) state.used = true;
}

void OrderStep::recorded(ValueId event) {
  const Value& value = values_[event];
  const bool from_outside =
      value.kind == Value::Kind::Content && value.since == kUnknown && !values_.local(value.location);
  const auto add = [this](OpIndex maker) {
    auto& all = order_.recorded_;
    const auto at = std::lower_bound(all.begin(), all.end(), maker);
    if (at == all.end() || *at != maker) all.insert(at, maker);
  };
  if (value.kind == Value::Kind::Object) return add(value.site);
  if (value.makers == kNoMakers) {
    order_.unknown_recorded_ = order_.unknown_recorded_ || !from_outside;
    return;
  }
  for (OpIndex maker : values_[value.makers]) add(maker);
}

void OrderStep::record() {
  const ValueId stream = this->stream(), event = store_.evaluate(values_, op_.event);
  if (order_.on_two_devices(values_, event, stream)) {
    // The call fails, and the event stays as it was.
    if (const auto it = order_.events_.find(event); it != order_.events_.end()) it->second.failed = index_;
    return;
  }
  disturb(stream);
  recorded(event);
  use(event);
  if (order_.capturing_ == Tri::No) barrier(stream);  // R-STR-15
  if (order_.capturing_ != Tri::No || event == kUnknown) {
    if (event == kUnknown) order_.events_.clear();
    order_.events_.erase(event);
    // Work that runs beside the capture, or becomes a node of its own, brings no stream into the capture.
    if (op_.detail.empty() && order_.captured_.contains(stream)) {
      order_.capture_records_[event] = stream;
    } else {
      order_.capture_records_.erase(event);
    }
    for (Pending& p : order_.pending_)
      if (event == kUnknown) p.must = sets_.without(p.must, is_event);
    return;
  }
  const std::uint32_t token = event_token(event);
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    const bool covered = surely(p, stream), maybe_covered = perhaps(p, stream);
    p.must = sets_.without(
        p.must, [&](std::uint32_t other) { return is_event(other) && values_.may_equal(value_of(other), event); });
    if (values_.precise(event)) p.may = sets_.without(p.may, [&](std::uint32_t other) { return other == token; });
    if (covered && stream != kUnknown) p.must = sets_.add(p.must, token);
    if (maybe_covered) p.may = sets_.add(p.may, token);
    note_edge(p);
  }
  std::erase_if(order_.events_, [&](const auto& entry) { return values_.may_equal(entry.first, event); });
  if (values_.precise(event)) order_.events_[event] = {.record = index_, .stream = stream, .used = false};
  std::erase_if(order_.pending_, [&](const Pending& p) { return p.access == kEventRecord && p.memory == event; });
  if (stream != kUnknown && values_.precise(event)) {
    Pending marker = fresh(kEventRecord, event, stream);
    marker.may = marker.must = sets_.add(marker.must, token);
    insert(marker);
  }
}

void OrderStep::wait() {
  const ValueId stream = this->stream(), event = store_.evaluate(values_, op_.event);
  disturb(stream);
  use(event);
  if (order_.capturing_ != Tri::No) {
    capture_wait(stream, event);
    if (order_.capture_records_.contains(event)) {
      order_.captured_.try_emplace(stream, index_);
    } else if (order_.event(event) == nullptr) {
      order_.perhaps_forked_ = true;  // not known to be recorded before the capture, or never
    }
    return;
  }
  if (op_.for_value) {
    const auto at = std::ranges::lower_bound(order_.held_by_value_, stream);
    if (at == order_.held_by_value_.end() || *at != stream) order_.held_by_value_.insert(at, stream);
  }
  if (!order_.never_recorded(values_, event)) barrier(stream);  // R-EVT-04
  remember(stream, event);
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    if (stream != kUnknown && surely_recorded(p, event)) p.must = sets_.add(p.must, stream_token(stream));
    if (perhaps_recorded(p, event) || event == kUnknown) p.may = sets_.add(p.may, stream_token(stream));
    note_edge(p);
  }
}

void OrderStep::capture_wait(ValueId stream, ValueId event) {
  const auto record = order_.capture_records_.find(event);
  if (event == kUnknown || stream == kUnknown || record == order_.capture_records_.end() || !values_.precise(event)) {
    order_.unjoined_.clear();
    return;
  }
  const auto work = order_.unjoined_.find(record->second);
  if (work == order_.unjoined_.end()) return;
  const OpIndex op = work->second;
  order_.unjoined_.erase(work);
  const auto known = order_.captured_.find(stream);
  if (known == order_.captured_.end() || values_.op(known->second).kind != OpKind::CaptureBegin)
    order_.unjoined_[stream] = op;
}

void OrderStep::remember(ValueId stream, ValueId event) {
  Edge edge{.stream = stream, .event = event};
  edge.never = event != kUnknown && order_.never_recorded(values_, event);
  if (const EventState* state = order_.event(event)) {
    edge.record = state->record;
    edge.recorded_on = state->stream;
  }
  order_.edges_[index_] = edge;
}

void OrderStep::sync_stream(ValueId stream) {
  remember(stream, kUnknown);
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    if (stream != kUnknown && surely(p, stream)) {
      surely_host(p);
    } else if (perhaps(p, stream)) {
      p.may = sets_.add(p.may, kHost);
    }
    note_edge(p);
  }
  // A library may wait for less than its call suggests (results that stay on the device). So its wait hides hazards of
  // the work that it covers, but makes no other wait redundant.
  if (op_.work == ir::Work::Library) return;
  std::erase(order_.held_by_value_, stream);
  std::erase_if(order_.busy_, [&](const auto& entry) {
    if (values_.must_equal(entry.first, stream)) return true;
    return order_.surely_meet(values_, stream, entry.first);
  });
  if (values_.precise(stream) && order_.capturing_ == Tri::No) order_.quiet_[stream] = index_;
}

void OrderStep::sync_event() {
  const ValueId event = store_.evaluate(values_, op_.event);
  use(event);
  remember(kUnknown, event);
  for (Pending& p : order_.pending_) {
    if (over(p)) continue;
    if (surely_recorded(p, event)) {
      surely_host(p);
    } else if (event == kUnknown || perhaps_recorded(p, event)) {
      p.may = sets_.add(p.may, kHost);
    }
    note_edge(p);
  }
}

void OrderStep::sync_device() {
  order_.edges_[index_] = {};
  for (Pending& p : order_.pending_) {
    if (over(p) || is_message(values_, p)) continue;
    const auto covered = [&](std::uint32_t token) {
      return is_stream(token) && !order_.on_another_device(values_, value_of(token));
    };
    if (p.access == kEventRecord ? !order_.on_current_device(values_, p.stream)
                                 : std::ranges::none_of(sets_[p.must], covered)) {
      if (p.access == kEventRecord || std::ranges::any_of(sets_[p.may], covered)) p.may = sets_.add(p.may, kHost);
    } else {
      surely_host(p);
    }
    note_edge(p);
  }
  order_.busy_.clear();
  order_.held_by_value_.clear();
  order_.strangers_ = false;
  order_.quiet_.clear();
  order_.quiet_[kUnknown] = index_;
}

void OrderStep::query() {
  const ValueId event = store_.evaluate(values_, op_.event), stream = this->stream();
  if (op_.kind == OpKind::QueryEvent) {
    use(event);
    perhaps_host([&](const Pending& p) { return event == kUnknown || perhaps_recorded(p, event); });
  } else {
    perhaps_host([&](const Pending& p) { return perhaps(p, stream); });
  }
}

void OrderStep::destroy() {
  const ValueId handle = store_.evaluate(values_, op_.source);
  if (!values_.precise(handle) || handle == kNull) return;
  order_.events_.erase(handle);
  order_.opened_.erase(handle);
  order_.quiet_.erase(handle);
  order_.destroyed_[handle] = {index_, true};
}

void Order::apply(Values& values, Sets& sets, const Store& store, OpIndex index) {
  OrderStep(values, sets, store, *this, index).run();
}

}  // namespace streamsan::analyzer
