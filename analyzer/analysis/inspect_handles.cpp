// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events without a record, recorded twice, without timing; handles after their end; calls that a capture does not
// allow. None of it needs memory.
//
// Only events whose whole life is seen here, or whose last record is, say anything. A record that is not certainly
// another event's ends what was known.
#include <algorithm>

#include "analyzer/analysis/inspector.h"

namespace streamsan::analyzer {

using ir::OpKind;
using ordering::MemoryKind;
using ordering::StreamKind;

void Inspector::destroyed(const ir::Operand& written, ValueId value, bool event) {
  if (!values_.precise(value)) return;
  const auto [by, always] = order_->destroyed(value);
  if (by == kNoOp) return;
  Hazard hazard = start(Check::HandleUseAfterDestroy, always ? Level::Definite : Level::Maybe);
  hazard.later = witness_.deed(index_, event ? kUnknown : value);
  hazard.earlier = witness_.deed(by, kUnknown);
  if (event) hazard.event = witness_.event(value, written, index_);
  if (op_->kind == OpKind::DestroyHandle) hazard.later.stream = witness_.stream(value, written, index_);
  raise({.hazard = std::move(hazard), .later = index_, .earlier = by});
}

void Inspector::handles() {
  for (const ir::Operand* operand : {&op_->event, &op_->event2})
    if (operand->kind == ir::Operand::Kind::Value) destroyed(*operand, store_->evaluate(values_, *operand), true);
  if (op_->stream.kind == ir::Operand::Kind::Value)
    destroyed(op_->stream, order_->stream_of(values_, *store_, index_), false);
  if (op_->kind == OpKind::DestroyHandle && op_->source.kind == ir::Operand::Kind::Value) {
    const bool event = values_.function()[op_->source.place].type == ir::TypeKind::Event;
    destroyed(op_->source, store_->evaluate(values_, op_->source), event);
  }
}

void Inspector::wait() {
  const ValueId event = store_->evaluate(values_, op_->event);
  const ValueId waiter = op_->kind == OpKind::Wait ? order_->stream_of(values_, *store_, index_) : kUnknown;
  waited_events_.emplace_back(event, index_);
  if (order_->never_recorded(values_, event)) {
    Hazard hazard = start(Check::EventWaitWithoutRecord, Level::Definite);
    hazard.later = witness_.deed(index_, waiter);
    hazard.event = witness_.event(event, op_->event, index_);
    hazard.cause = Cause::NeverRecorded;
    if (const EventState* state = order_->event(event); state != nullptr && state->failed != kNoOp) {
      hazard.which = CheckCase::AnotherDevice;
      hazard.edge = witness_.where(state->failed);
    }
    const std::vector<ir::Op>& ops = values_.function().blocks[block_].ops;
    for (std::uint32_t i = position_ + 1; i < ops.size() && !hazard.edge; ++i)
      if (ops[i].kind == OpKind::Record && ops[i].event == op_->event)
        hazard.edge = witness_.where(index_ + (i - position_));
    useless_waits_.insert(index_);
    return raise({.hazard = std::move(hazard), .later = index_});
  }
  const EventState* state = values_.precise(event) ? order_->event(event) : nullptr;
  if (op_->kind == OpKind::Wait && state != nullptr && state->record != kNoOp &&
      values_.must_equal(state->stream, waiter)) {
    Hazard hazard = start(Check::SelfWait, Level::Definite);
    hazard.later = witness_.deed(index_, waiter);
    hazard.earlier = witness_.deed(state->record, state->stream);
    hazard.event = witness_.event(event, op_->event, index_);
    raise({.hazard = std::move(hazard), .later = index_, .earlier = state->record});
    missed_join(event, waiter, *state);
  }
}

void Inspector::missed_join(ValueId event, ValueId waiter, const EventState& state) {
  // Another stream was made to wait for this one, has worked since, and this one never waits for it.
  for (const auto& [fork, work] : order_->busy()) {
    if (fork == kUnknown || !values_.precise(fork) || values_.must_equal(fork, waiter)) continue;
    OpIndex forked = kNoOp;
    bool joined = false;
    for (const auto& [op, edge] : order_->edges()) {
      if (values_.must_equal(edge.stream, fork) && values_.must_equal(edge.recorded_on, waiter)) forked = op;
      joined = joined || (values_.may_equal(edge.stream, waiter) && values_.may_equal(edge.recorded_on, fork));
    }
    if (forked == kNoOp || work < forked) continue;
    if (!values_.certainly_different(fork, waiter)) {
      undecided_ = true;
      continue;
    }
    if (joined) continue;
    // Code that treats all its streams alike lets this one wait for itself, too, and joins the other later.
    Hazard hazard = start(Check::EventWaitWithoutRecord, Level::Maybe);
    hazard.later = witness_.deed(index_, waiter);
    hazard.event = witness_.event(event, op_->event, index_);
    hazard.which = CheckCase::OwnStream;
    hazard.edge = witness_.where(state.record);
    const std::string name = witness_.stream(fork, values_.op(work).stream, work).name;
    hazard.evidence.push_back(
        {"this work" + (name.empty() ? std::string() : " on stream '" + name + "'") + " is not waited for",
         witness_.where(work)});
    tell_belief(hazard, fork, waiter);
    return raise({.hazard = std::move(hazard), .later = index_});
  }
}

void Inspector::record() {
  const ValueId event = store_->evaluate(values_, op_->event), stream = order_->stream_of(values_, *store_, index_);
  const EventState* state = values_.precise(event) ? order_->event(event) : nullptr;
  if (state == nullptr || state->used || state->record == kNoOp) return;
  if (!values_.certainly_different(state->stream, stream)) return;
  // What the first record covered is known to be over, or comes before the second record anyway: nothing is lost.
  for (const Pending& p : order_->pending())
    if (p.access == kEventRecord && p.op == state->record && values_.may_equal(p.memory, event) &&
        order_->perhaps_before(values_, sets_, p.may, stream))
      return;
  Hazard hazard = start(Check::EventRerecord, Level::Definite);
  hazard.later = witness_.deed(index_, stream);
  hazard.earlier = witness_.deed(state->record, state->stream);
  hazard.event = witness_.event(event, op_->event, index_);
  rerecords_.push_back({.hazard = std::move(hazard), .later = index_, .earlier = state->record});
  rerecord_events_.emplace_back(event, index_);
}

void Inspector::elapsed() {
  for (const ir::Operand* operand : {&op_->event, &op_->event2}) {
    const ValueId event = store_->evaluate(values_, *operand);
    if (!values_.precise(event)) continue;
    Hazard hazard = start(Check::EventTimingMisuse, Level::Definite);
    hazard.later = witness_.deed(index_, kUnknown);
    hazard.event = witness_.event(event, *operand, index_);
    Raised raised{.hazard = {}, .later = index_};
    if (values_.timing(event) == false) {
      hazard.which = CheckCase::NoTiming;
    } else if (order_->never_recorded(values_, event)) {
      hazard.which = CheckCase::NotRecorded;
    } else if (operand == &op_->event2) {
      const Pending* marker = nullptr;
      for (const Pending& p : order_->pending())
        if (p.access == kEventRecord && values_.must_equal(p.memory, event)) marker = &p;
      if (marker == nullptr || sets_.has(marker->may, kHost)) continue;
      hazard.which = CheckCase::NotComplete;
      hazard.earlier = witness_.deed(marker->op, marker->stream);
      raised.earlier = marker->op;
    } else {
      continue;
    }
    raised.hazard = std::move(hazard);
    raise(std::move(raised));
  }
}

void Inspector::capture() {
  const auto unsafe = [this](const std::string& why) {
    const Level level = order_->capturing() == Tri::All ? Level::Definite : Level::Maybe;
    Hazard hazard = start(Check::CaptureUnsafeCall, level);
    hazard.later = witness_.deed(index_, kUnknown);
    hazard.detail = why;
    const auto& [stream, begin] = *order_->captured().begin();
    hazard.earlier = witness_.deed(begin, stream);
    raise({.hazard = std::move(hazard), .later = index_, .earlier = begin});
  };
  const auto captured = [this](ValueId stream) {
    for (const auto& [known, op] : order_->captured())
      if (values_.must_equal(known, stream)) return true;
    return false;
  };
  if (order_->captured().empty()) return;
  const ValueId stream = order_->stream_of(values_, *store_, index_);
  // R-GRF-09: a relaxed capture, or one whose mode is not known, refuses only what concerns the captured streams. So
  // does a thread that has exchanged its mode.
  const auto& all = order_->captured();
  const bool relaxed = !order_->own_capture_mode() || std::ranges::any_of(all, [this](const auto& known) {
    return values_.op(known.second).detail == "relaxed";
  });
  switch (op_->kind) {
    case OpKind::CaptureEnd: {
      if (order_->capturing() != Tri::All || all.size() < 2) return;
      const auto begin = std::ranges::find_if(
          all, [this](const auto& known) { return values_.op(known.second).kind == OpKind::CaptureBegin; });
      if (begin == all.end() || order_->unjoined().empty()) return;
      const auto& [fork, work] = *order_->unjoined().begin();
      Hazard hazard = start(Check::CaptureUnsafeCall, Level::Definite);
      hazard.later = witness_.deed(index_, fork);
      hazard.later.stream = witness_.stream(fork, values_.op(work).stream, work);
      hazard.which = CheckCase::NotJoined;
      hazard.earlier = witness_.deed(begin->second, begin->first);
      hazard.edge = witness_.where(work);
      return raise({.hazard = std::move(hazard), .later = index_, .earlier = begin->second});
    }
    case OpKind::SyncDevice:
      return unsafe("it synchronises the device");
    case OpKind::SyncStream:
      // A library that waits for its results outside of a capture may well not do so inside.
      if (op_->work == ir::Work::Library) return;
      if (captured(stream) || values_.is_legacy(stream))
        return unsafe("it synchronises a stream whose work is not running");
      return;
    case OpKind::QueryStream:
      if (captured(stream) || values_.is_legacy(stream))
        return unsafe("it asks about a stream whose work is not running");
      return;
    case OpKind::SyncEvent:
      if (relaxed) return;
      return unsafe("it waits for an event");
    case OpKind::QueryEvent:
      if (relaxed) return;
      return unsafe("it asks about an event");
    case OpKind::Allocate:
      if (relaxed || op_->tensor || op_->memory == MemoryKind::DeviceAsync || op_->memory == MemoryKind::Pageable)
        return;
      return unsafe("it may synchronise the device");
    case OpKind::Free:
      if (relaxed || op_->tensor || op_->memory == MemoryKind::DeviceAsync || op_->memory == MemoryKind::Pageable ||
          !op_->memory)
        return;
      return unsafe("it may synchronise the device");
    case OpKind::Enqueue:
      if (op_->form == ir::Form::Synchronous && copies_or_fills(*op_)) {
        // R-GRF-06, R-GRF-07: beside a non-blocking stream it is only potentially unsafe.
        const bool blocking = std::ranges::any_of(
            all, [this](const auto& known) { return values_.stream_kind(known.first) == StreamKind::Blocking; });
        if (relaxed && !blocking) return;
        return unsafe("it is synchronous");
      }
      if (values_.is_legacy(stream)) return unsafe("it goes to the default stream, which is not captured");
      return;
    case OpKind::Record:
      if (values_.is_legacy(stream)) return unsafe("it goes to the default stream, which is not captured");
      return;
    default:
      return;
  }
}

}  // namespace streamsan::analyzer
