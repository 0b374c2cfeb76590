// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why is there no order between an access and a later op? The cause is looked for among the waits and synchronisations
// that ran since the access (Pending::since), or that stand right after.
//
// The causes are tried from the most specific to the least. A message says only what the state certainly shows: a cause
// that is not certain gives way to a weaker one, at last to "nothing at all".
#include "analyzer/analysis/cause.h"

#include <algorithm>

namespace streamsan::analyzer {
namespace {

using ir::OpKind;

void note_event(const Look& look, Hazard& hazard, OpIndex edge, ValueId event) {
  const ir::Op& op = look.values.op(edge);
  hazard.event = look.witness.event(event, op.event, edge);
}

/// The synchronisation that stands right after the later op, and would order the two before it; kNoOp: none.
OpIndex too_late(const Look& look, const Pending& earlier, ValueId later) {
  // It counts only if it was plausibly meant to order the two: it follows closely, and is about just these two. The
  // synchronisation that ends a function is no attempt to order two streams.
  constexpr std::uint32_t kNear = 4;
  Values& values = look.values;
  const std::vector<ir::Op>& ops = values.function().blocks[look.block].ops;
  const ir::Operand& stream = values.op(earlier.op).stream;
  std::vector<ir::Operand> recorded;  // after both
  for (std::uint32_t i = look.position + 1; i < ops.size() && i <= look.position + kNear; ++i) {
    const OpIndex op = look.index + (i - look.position);
    const auto orders = [&] {
      return std::ranges::find(recorded, ops[i].event) != recorded.end() ||
             look.sets.has(earlier.must, event_token(look.store->evaluate(values, ops[i].event)));
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
        if (later != kUnknown && ops[i].stream == look.op->stream && orders()) return op;
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

/// The last index in a name: "0" of "this->slots_[0].sent".
std::string_view index_in(std::string_view name) {
  const std::size_t open = name.rfind('['), close = name.rfind(']');
  return open == std::string_view::npos || close < open ? std::string_view() : name.substr(open + 1, close - open - 1);
}

/// The event that covers a piece of work, and the op that shows why it did not help.
struct EventOfWork {
  Cause cause{};  ///< WaitElsewhere: another stream waits for it; NeverWaited: nothing does
  ValueId event = kUnknown;
  OpIndex op = kNoOp;
};

std::optional<EventOfWork> event_of(const Look& look, const Hazard& hazard, const Pending& earlier) {
  const Values& values = look.values;
  for (OpIndex op : look.sets[earlier.since]) {
    if (values.op(op).kind != OpKind::Wait) continue;
    const auto edge = look.order->edges().find(op);
    if (edge == look.order->edges().end() || !look.sets.has(earlier.must, event_token(edge->second.event))) continue;
    return EventOfWork{Cause::WaitElsewhere, edge->second.event, op};
  }
  const std::string_view element = index_in(hazard.buffer.name);
  for (std::uint32_t token : look.sets[earlier.must]) {
    if (!is_event(token)) continue;
    const EventState* state = look.order->event(value_of(token));
    if (state == nullptr || state->record == kNoOp || !values.must_equal(state->stream, earlier.stream)) continue;
    // In a ring, each slot has an event. Another slot's event also covers the work but is not the one that was meant.
    const ir::Op& record = values.op(state->record);
    const std::string name = look.witness.event(value_of(token), record.event, state->record).name;
    const std::string_view slot = index_in(name);
    if (!slot.empty() && !element.empty() && slot != element) continue;
    return EventOfWork{Cause::NeverWaited, value_of(token), state->record};
  }
  return std::nullopt;
}

void note_cause(const Look& look, Hazard& hazard, const EventOfWork& found) {
  note_event(look, hazard, found.op, found.event);
  hazard.cause = found.cause;
  hazard.edge = look.witness.where(found.op);
}

}  // namespace

void explain(const Look& look, Hazard& hazard, const Pending& earlier, ValueId later) {
  const Values& values = look.values;
  const bool to_host = later == kUnknown;
  const auto found = [&](Cause cause, OpIndex edge) {
    hazard.cause = cause;
    if (edge != kNoOp) hazard.edge = look.witness.where(edge);
  };
  const Sets::Elements& since = look.sets[earlier.since];
  const auto passed = [&](OpIndex op) { return std::binary_search(since.begin(), since.end(), op); };

  if (look.ordered_on_some_path(earlier, later)) {
    hazard.cause = Cause::OnlyOnSomePaths;
    for (OpIndex op : since)
      if (values.op(op).kind != OpKind::Record) hazard.edge = look.witness.where(op);
    return;
  }

  // Waits by the later side.
  for (const auto& [op, edge] : look.order->edges()) {
    const bool its_own = to_host ? values.op(op).kind == OpKind::SyncEvent
                                 : values.op(op).kind == OpKind::Wait && values.must_equal(edge.stream, later);
    if (!its_own || !passed(op)) continue;
    if (edge.never) {
      note_event(look, hazard, op, edge.event);
      return found(Cause::NeverRecorded, op);
    }
    if (edge.record == kNoOp) continue;
    if (values.must_equal(edge.recorded_on, earlier.stream) && !passed(edge.record)) {
      note_event(look, hazard, op, edge.event);
      return found(Cause::RecordedTooEarly, edge.record);
    }
    if (values.certainly_different(edge.recorded_on, earlier.stream) && passed(edge.record)) {
      note_event(look, hazard, op, edge.event);
      found(Cause::RecordedElsewhere, edge.record);
    }
  }
  // The program may also have the right event: then the message names that one.
  if (hazard.cause == Cause::RecordedElsewhere) {
    if (const auto event = event_of(look, hazard, earlier)) note_cause(look, hazard, *event);
    return;
  }

  using ordering::StreamKind;
  const auto first = values.stream_kind(earlier.stream), second = values.stream_kind(later);
  if (!to_host && ((first == StreamKind::Legacy && second == StreamKind::NonBlocking) ||
                   (first == StreamKind::NonBlocking && second == StreamKind::Legacy)))
    return found(Cause::NonBlocking, kNoOp);
  if (look.of_earlier_iteration(earlier)) {
    // If the loop records an event after the work, the next iteration is meant to wait for that event.
    const auto event = to_host ? event_of(look, hazard, earlier) : std::nullopt;
    if (event && event->cause == Cause::NeverWaited) note_cause(look, hazard, *event);
    hazard.cause = Cause::OtherIteration;
    return;
  }

  if (const auto event = event_of(look, hazard, earlier)) return note_cause(look, hazard, *event);
  if (const OpIndex op = too_late(look, earlier, later); op != kNoOp) return found(Cause::WaitAfter, op);
  for (OpIndex op : since) {
    const OpKind kind = values.op(op).kind;
    if (kind != OpKind::SyncStream && !(kind == OpKind::Enqueue && values.op(op).form == ir::Form::Synchronous))
      continue;
    return found(Cause::OtherStreamSynced, op);
  }
  found(Cause::NoEdge, kNoOp);
}

}  // namespace streamsan::analyzer
