// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is right but slow, as far as the state tells: synchronisations that wait for too much or for nothing, and
// asynchronous copies that are none.
//
// A device-wide synchronisation is only told of where all work that may be in flight was enqueued here, on streams with
// names; work of callers is not seen, so the advice holds for this function's own work. Where only the default stream
// has work nothing is told: in a program with one stream the two calls are one. Of what a callee waits for nothing is
// told either: another caller may need it, and a destructor cannot know.
#include <string>

#include "analyzer/analysis/inspector.h"

namespace streamsan::analyzer {

using ir::OpKind;
using ordering::HostEffect;
using ordering::MemoryKind;
using ordering::StreamKind;

void Inspector::device_sync() {
  if (values_.of_a_callee(index_)) return;
  if (order_->strangers() || order_->busy().empty() || order_->busy().size() > 3) return;
  for (const auto& [stream, op] : order_->busy())
    if (!values_.precise(stream) || values_.is_default_stream(stream) || !order_->on_current_device(values_, stream))
      return;
  Hazard hazard = start(Check::DeviceWideSync, Level::Definite);
  hazard.later = witness_.deed(index_, kUnknown);
  Raised raised{.hazard = {}, .later = index_};
  if (order_->busy().size() == 1) {
    const auto& [stream, last] = *order_->busy().begin();
    hazard.later.stream = witness_.stream(stream, values_.op(last).stream, last);
    hazard.earlier = witness_.deed(last, stream);
    raised.earlier = last;
  } else {
    std::size_t left = order_->busy().size();
    for (const auto& [stream, last] : order_->busy()) {
      hazard.detail += "'" + witness_.stream(stream, values_.op(last).stream, last).name + "'";
      --left;
      if (left != 0) hazard.detail += left == 1 ? " and " : ", ";
    }
  }
  raised.hazard = std::move(hazard);
  raise(std::move(raised));
}

void Inspector::redundant_sync() {
  if (values_.of_a_callee(index_)) return;
  const bool device = op_->kind == OpKind::SyncDevice;
  const ValueId stream = device ? kUnknown : order_->stream_of(values_, *store_, index_);
  if (!device && (!values_.precise(stream) || op_->work == ir::Work::Library)) return;
  const bool covered = device || order_->on_current_device(values_, stream);
  OpIndex before = covered ? order_->quiet_since(kUnknown) : kNoOp;
  if (before == kNoOp && !device) before = order_->quiet_since(stream);
  const auto kind = values_.stream_kind(stream);
  if (before == kNoOp && !device && covered && (kind == StreamKind::Blocking || kind == StreamKind::PerThread))
    before = order_->quiet_since(order_->of_current_device(values_, kLegacy));
  if (before != kNoOp) {
    Hazard hazard = start(Check::RedundantSync, Level::Definite);
    hazard.later = witness_.deed(index_, stream);
    hazard.earlier = witness_.deed(before, kUnknown);
    return raise({.hazard = std::move(hazard), .later = index_, .earlier = before});
  }

  // The very next thing is a copy that waits by itself. With a line between them it may be a measurement that ends.
  const std::vector<ir::Op>& ops = values_.function().blocks[block_].ops;
  std::uint32_t next = position_ + 1;
  while (next < ops.size() && (ops[next].kind == OpKind::Assign || ops[next].kind == OpKind::Fresh)) ++next;
  if (next == ops.size() || ops[next].kind != OpKind::Enqueue || ops[next].form != ir::Form::Synchronous) return;
  const OpIndex copy = index_ + (next - position_);
  if (!copies_or_fills(ops[next]) || ops[next].site == ir::kNoSite || op_->site == ir::kNoSite) return;
  const ir::Site &here = values_.function()[op_->site], &there = values_.function()[ops[next].site];
  if (there.line > here.line + 1 || there.file != here.file) return;
  const ValueId copied_on = order_->stream_of(values_, *store_, copy);
  if (device) {
    if (order_->strangers() || order_->busy().empty()) return;
    for (const auto& [busy, op] : order_->busy())
      if (!values_.must_equal(busy, copied_on)) return;
  } else if (!values_.must_equal(stream, copied_on)) {
    return;
  }
  for (const ordering::CopyRule& rule : copy_rules(values_, *store_, *order_, copy))
    if (rule.documented == HostEffect::None) return;
  Hazard hazard = start(Check::RedundantSync, Level::Definite);
  hazard.later = witness_.deed(index_, stream);
  hazard.edge = witness_.where(copy);
  raise({.hazard = std::move(hazard), .later = index_});
}

void Inspector::redundant_event_sync() {
  if (values_.of_a_callee(index_)) return;
  const ValueId event = store_->evaluate(values_, op_->event);
  const EventState* state = values_.precise(event) ? order_->event(event) : nullptr;
  if (state == nullptr || state->record == kNoOp) return;
  const Pending* record = nullptr;
  for (const Pending& p : order_->pending()) {
    if (p.access != kEventRecord || !values_.may_equal(p.memory, event)) continue;
    if (p.op != state->record || !sets_.has(p.must, kHost)) return;
    record = &p;
  }
  if (record == nullptr) return;
  OpIndex before = kNoOp;
  for (OpIndex op : sets_[record->since]) {
    const OpKind kind = values_.op(op).kind;
    // What a library waits for may be less than it seems.
    if (kind == OpKind::SyncStream && values_.op(op).work == ir::Work::Library) return;
    if (kind == OpKind::SyncDevice || kind == OpKind::SyncStream || kind == OpKind::SyncEvent) before = op;
  }
  if (before == kNoOp) return;
  Hazard hazard = start(Check::RedundantSync, Level::Definite);
  hazard.later = witness_.deed(index_, kUnknown);
  hazard.earlier = witness_.deed(before, kUnknown);
  raise({.hazard = std::move(hazard), .later = index_, .earlier = before});
}

void Inspector::pageable_copy() {
  if (op_->work != ir::Work::Copy || op_->form != ir::Form::Asynchronous) return;
  const ir::Access* pageable = nullptr;
  for (const ir::Access& access : op_->accesses) {
    const auto kind = order_->kind(values_, access, store_->evaluate(values_, access.memory));
    const bool device = kind == MemoryKind::Device || kind == MemoryKind::DeviceAsync;
    if (kind == MemoryKind::Pageable && pageable == nullptr) {
      pageable = &access;
    } else if (!device) {
      return;
    }
  }
  if (pageable == nullptr || op_->accesses.size() < 2) return;
  Hazard hazard = start(Check::PageableAsyncCopy, Level::Definite);
  hazard.later = witness_.deed(index_, order_->stream_of(values_, *store_, index_));
  hazard.buffer = witness_.memory(store_->evaluate(values_, pageable->memory), pageable->memory, index_);
  hazard.buffer.memory_kind = MemoryKind::Pageable;
  raise({.hazard = std::move(hazard), .later = index_});
}

}  // namespace streamsan::analyzer
