// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that is correct but slow, as far as the state shows it: synchronisations that wait for too much or for nothing,
// and asynchronous copies that do not run asynchronously.
//
// A device-wide synchronisation is only reported where all work that may be in flight was enqueued here, on streams
// with names; work of callers is not seen, so the advice holds for this function's own work. Where only the default
// stream has work nothing is reported: in a program with one stream the two calls are one. What a callee waits for is
// not reported either: another caller may need it, and a destructor cannot know.
#include "analyzer/analysis/inspect_syncs.h"

#include <string>

namespace streamsan::analyzer {

using ir::OpKind;
using ordering::HostEffect;
using ordering::MemoryKind;
using ordering::StreamKind;

void SyncQuestions::device_sync() {
  if (values_.of_a_callee(look_.index)) return;
  if (look_.order->strangers() || look_.order->busy().empty() || look_.order->busy().size() > 3) return;
  for (const auto& [stream, op] : look_.order->busy())
    if (!values_.precise(stream) || values_.is_default_stream(stream) ||
        !look_.order->on_current_device(values_, stream))
      return;
  Hazard hazard = look_.start(Check::DeviceWideSync, Level::Definite);
  hazard.later = witness_.action(look_.index, kUnknown);
  Raised raised{.hazard = {}, .later = look_.index};
  if (look_.order->busy().size() == 1) {
    const auto& [stream, last] = *look_.order->busy().begin();
    hazard.later.stream = witness_.stream(stream, values_.op(last).stream, last);
    hazard.earlier = witness_.action(last, stream);
    raised.earlier = last;
  } else {
    std::size_t left = look_.order->busy().size();
    for (const auto& [stream, last] : look_.order->busy()) {
      hazard.detail += "'" + witness_.stream(stream, values_.op(last).stream, last).name + "'";
      --left;
      if (left != 0) hazard.detail += left == 1 ? " and " : ", ";
    }
  }
  raised.hazard = std::move(hazard);
  look_.raise(std::move(raised));
}

void SyncQuestions::redundant_sync() {
  if (values_.of_a_callee(look_.index)) return;
  const bool device = look_.op->kind == OpKind::SyncDevice;
  const ValueId stream = device ? kUnknown : look_.order->stream_of(values_, *look_.store, look_.index);
  if (!device && (!values_.precise(stream) || look_.op->work == ir::Work::Library)) return;
  const bool covered = device || look_.order->on_current_device(values_, stream);
  OpIndex before = covered ? look_.order->quiet_since(kUnknown) : kNoOp;
  if (before == kNoOp && !device) before = look_.order->quiet_since(stream);
  const auto kind = values_.stream_kind(stream);
  if (before == kNoOp && !device && covered && (kind == StreamKind::Blocking || kind == StreamKind::PerThread))
    before = look_.order->quiet_since(look_.order->of_current_device(values_, kLegacy));
  if (before != kNoOp) {
    Hazard hazard = look_.start(Check::RedundantSync, Level::Definite);
    hazard.later = witness_.action(look_.index, stream);
    hazard.earlier = witness_.action(before, kUnknown);
    return look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = before});
  }

  // The next op is a copy that waits by itself. With a line between the two, the wait may end a measurement.
  const std::vector<ir::Op>& ops = values_.function().blocks[look_.block].ops;
  std::uint32_t next = look_.position + 1;
  while (next < ops.size() && (ops[next].kind == OpKind::Assign || ops[next].kind == OpKind::Fresh)) ++next;
  if (next == ops.size() || ops[next].kind != OpKind::Enqueue || ops[next].form != ir::Form::Synchronous) return;
  const OpIndex copy = look_.index + (next - look_.position);
  if (!copies_or_fills(ops[next]) || ops[next].site == ir::kNoSite || look_.op->site == ir::kNoSite) return;
  const ir::Site &here = values_.function()[look_.op->site], &there = values_.function()[ops[next].site];
  if (there.line > here.line + 1 || there.file != here.file) return;
  const ValueId copied_on = look_.order->stream_of(values_, *look_.store, copy);
  if (device) {
    if (look_.order->strangers() || look_.order->busy().empty()) return;
    for (const auto& [busy, op] : look_.order->busy())
      if (!values_.must_equal(busy, copied_on)) return;
  } else if (!values_.must_equal(stream, copied_on)) {
    return;
  }
  for (const ordering::CopyRule& rule : copy_rules(values_, *look_.store, *look_.order, copy))
    if (rule.documented == HostEffect::None) return;
  Hazard hazard = look_.start(Check::RedundantSync, Level::Definite);
  hazard.later = witness_.action(look_.index, stream);
  hazard.edge = witness_.where(copy);
  look_.raise({.hazard = std::move(hazard), .later = look_.index});
}

void SyncQuestions::redundant_event_sync() {
  if (values_.of_a_callee(look_.index)) return;
  const ValueId event = look_.store->evaluate(values_, look_.op->event);
  const EventState* state = values_.precise(event) ? look_.order->event(event) : nullptr;
  if (state == nullptr || state->record == kNoOp) return;
  const Pending* record = nullptr;
  for (const Pending& p : look_.order->pending()) {
    if (p.access != kEventRecord || !values_.may_equal(p.memory, event)) continue;
    if (p.op != state->record || !sets_.has(p.must, kHost)) return;
    record = &p;
  }
  if (record == nullptr) return;
  OpIndex before = kNoOp;
  for (OpIndex op : sets_[record->since]) {
    const OpKind kind = values_.op(op).kind;
    // A library may wait for less than its call suggests.
    if (kind == OpKind::SyncStream && values_.op(op).work == ir::Work::Library) return;
    if (kind == OpKind::SyncDevice || kind == OpKind::SyncStream || kind == OpKind::SyncEvent) before = op;
  }
  if (before == kNoOp) return;
  Hazard hazard = look_.start(Check::RedundantSync, Level::Definite);
  hazard.later = witness_.action(look_.index, kUnknown);
  hazard.earlier = witness_.action(before, kUnknown);
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = before});
}

void SyncQuestions::pageable_copy() {
  if (look_.op->work != ir::Work::Copy || look_.op->form != ir::Form::Asynchronous) return;
  const ir::Access* pageable = nullptr;
  for (const ir::Access& access : look_.op->accesses) {
    const auto kind = look_.order->kind(values_, access, look_.store->evaluate(values_, access.memory));
    const bool device = kind == MemoryKind::Device || kind == MemoryKind::DeviceAsync;
    if (kind == MemoryKind::Pageable && pageable == nullptr) {
      pageable = &access;
    } else if (!device) {
      return;
    }
  }
  if (pageable == nullptr || look_.op->accesses.size() < 2) return;
  Hazard hazard = look_.start(Check::PageableAsyncCopy, Level::Definite);
  hazard.later = witness_.action(look_.index, look_.order->stream_of(values_, *look_.store, look_.index));
  hazard.buffer = witness_.memory(look_.store->evaluate(values_, pageable->memory), pageable->memory, look_.index);
  hazard.buffer.memory_kind = MemoryKind::Pageable;
  look_.raise({.hazard = std::move(hazard), .later = look_.index});
}

void SyncQuestions::ask() {
  switch (look_.op->kind) {
    case OpKind::Enqueue:
      return pageable_copy();
    case OpKind::SyncEvent:
      return redundant_event_sync();
    case OpKind::SyncDevice:
      device_sync();
      return redundant_sync();
    case OpKind::SyncStream:
      return redundant_sync();
    default:
      return;
  }
}

}  // namespace streamsan::analyzer
