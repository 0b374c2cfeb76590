// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why is there no order between an access and what comes later? Found among the waits and synchronisations that were
// passed since the access (Pending::since), or that stand right after.
//
// The causes are tried from the most telling to the least. What is said is what the state certainly shows; a cause that
// is not certain falls through to a weaker one, at last to "nothing at all".
#include "analyzer/analysis/inspector.h"

namespace streamsan::analyzer {

using ir::OpKind;

void Inspector::tell_belief(Hazard& hazard, ValueId one, ValueId other) const {
  if (beliefs_ == nullptr || values_.proved_different(one, other)) return;
  if (auto evidence = beliefs_->why(one, other)) hazard.evidence.push_back(std::move(*evidence));
}

void Inspector::tell_event(Hazard& hazard, OpIndex edge, ValueId event) const {
  const ir::Op& op = values_.op(edge);
  hazard.event = witness_.event(event, op.event, edge);
}

void Inspector::explain(Hazard& hazard, const Pending& earlier, ValueId later) const {
  const bool to_host = later == kUnknown;
  const auto found = [&](Cause cause, OpIndex edge) {
    hazard.cause = cause;
    if (edge != kNoOp) hazard.edge = witness_.where(edge);
  };
  const Sets::Elements& since = sets_[earlier.since];
  const auto passed = [&](OpIndex op) { return std::binary_search(since.begin(), since.end(), op); };

  if (ordered_on_some_path(earlier, later)) {
    hazard.cause = Cause::OnlyOnSomePaths;
    for (OpIndex op : since)
      if (values_.op(op).kind != OpKind::Record) hazard.edge = witness_.where(op);
    return;
  }

  // Waits by the later side.
  for (const auto& [op, edge] : order_->edges()) {
    const bool its_own = to_host ? values_.op(op).kind == OpKind::SyncEvent
                                 : values_.op(op).kind == OpKind::Wait && values_.must_equal(edge.stream, later);
    if (!its_own || !passed(op)) continue;
    if (edge.never) {
      tell_event(hazard, op, edge.event);
      return found(Cause::NeverRecorded, op);
    }
    if (edge.record == kNoOp) continue;
    if (values_.must_equal(edge.recorded_on, earlier.stream) && !passed(edge.record)) {
      tell_event(hazard, op, edge.event);
      return found(Cause::RecordedTooEarly, edge.record);
    }
    if (values_.certainly_different(edge.recorded_on, earlier.stream) && passed(edge.record)) {
      tell_event(hazard, op, edge.event);
      found(Cause::RecordedElsewhere, edge.record);
    }
  }
  if (hazard.cause == Cause::RecordedElsewhere) return;

  using ordering::StreamKind;
  const auto first = values_.stream_kind(earlier.stream), second = values_.stream_kind(later);
  if (!to_host && ((first == StreamKind::Legacy && second == StreamKind::NonBlocking) ||
                   (first == StreamKind::NonBlocking && second == StreamKind::Legacy)))
    return found(Cause::NonBlocking, kNoOp);
  if (of_earlier_iteration(earlier)) return found(Cause::OtherIteration, kNoOp);

  // Its work is in an event.
  for (OpIndex op : since) {
    if (values_.op(op).kind != OpKind::Wait) continue;
    const auto edge = order_->edges().find(op);
    if (edge == order_->edges().end() || !sets_.has(earlier.must, event_token(edge->second.event))) continue;
    tell_event(hazard, op, edge->second.event);
    return found(Cause::WaitElsewhere, op);
  }
  for (std::uint32_t token : sets_[earlier.must]) {
    if (!is_event(token)) continue;
    const EventState* state = order_->event(value_of(token));
    if (state == nullptr || state->record == kNoOp || !values_.must_equal(state->stream, earlier.stream)) continue;
    tell_event(hazard, state->record, value_of(token));
    return found(Cause::NeverWaited, state->record);
  }
  if (const OpIndex op = too_late(earlier, later); op != kNoOp) return found(Cause::WaitAfter, op);
  for (OpIndex op : since) {
    const OpKind kind = values_.op(op).kind;
    if (kind != OpKind::SyncStream && !(kind == OpKind::Enqueue && values_.op(op).form == ir::Form::Synchronous))
      continue;
    return found(Cause::OtherStreamSynced, op);
  }
  found(Cause::NoEdge, kNoOp);
}

OpIndex Inspector::too_late(const Pending& earlier, ValueId later) const {
  // Only what was plausibly meant as the missing order: close behind, and between just these two. The synchronisation
  // that ends a function is no attempt to order two streams.
  constexpr std::uint32_t kNear = 4;
  const std::vector<ir::Op>& ops = values_.function().blocks[block_].ops;
  const ir::Operand& stream = values_.op(earlier.op).stream;
  std::vector<ir::Operand> recorded;  // after both
  for (std::uint32_t i = position_ + 1; i < ops.size() && i <= position_ + kNear; ++i) {
    const OpIndex op = index_ + (i - position_);
    const auto orders = [&] {
      return std::ranges::find(recorded, ops[i].event) != recorded.end() ||
             sets_.has(earlier.must, event_token(store_->evaluate(values_, ops[i].event)));
    };
    switch (ops[i].kind) {
      case OpKind::SyncDevice:
        if (later == kUnknown) return op;
        break;
      case OpKind::SyncStream:
        if (later == kUnknown && ops[i].stream == stream) return op;
        break;
      case OpKind::SyncEvent:
        if (later == kUnknown && orders()) return op;
        break;
      case OpKind::Wait:
        if (later != kUnknown && ops[i].stream == op_->stream && orders()) return op;
        break;
      case OpKind::Record:
        if (ops[i].stream == stream) recorded.push_back(ops[i].event);
        break;
      default:
        break;
    }
  }
  return kNoOp;
}

}  // namespace streamsan::analyzer
