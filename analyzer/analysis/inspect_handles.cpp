// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events without a record, recorded twice, without timing; handles after their end. None of it needs memory.
//
// Says something only about events whose whole life, or last record, is in sight. A record that may be of an event ends
// what was known of that event. A wait under a condition that is not understood is no certain mistake if what
// leaves it out leads to a record: `if (current_) cudaEventSynchronize(sent_);` may hold from the second time on.
#include "analyzer/analysis/inspect_handles.h"

#include <algorithm>
#include <optional>
#include <set>

#include "analyzer/ir/naming.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {

using ir::OpKind;

void HandleQuestions::destroyed(const ir::Operand& written, ValueId value, bool event) {
  // A destroy call with a null handle has no effect. Deleters get what their owner held before, which may be null.
  if (!values_.precise(value) || value == kNull || value == kLegacy || value == kPerThread) return;
  const auto [by, always] = look_.order->destroyed(value);
  if (by == kNoOp) return;
  Hazard hazard = look_.start(Check::HandleUseAfterDestroy, always ? Level::Definite : Level::Maybe);
  hazard.later = witness_.action(look_.index, event ? kUnknown : value);
  hazard.earlier = witness_.action(by, kUnknown);
  if (event) hazard.event = witness_.event(value, written, look_.index);
  if (look_.op->kind == OpKind::DestroyHandle) hazard.later.stream = witness_.stream(value, written, look_.index);
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = by});
}

void HandleQuestions::handles() {
  for (const ir::Operand* operand : {&look_.op->event, &look_.op->event2})
    if (operand->kind == ir::Operand::Kind::Value) destroyed(*operand, look_.store->evaluate(values_, *operand), true);
  // An empty owner frees nothing. The implicit end of a member has no source line.
  const bool by_call = look_.op->site != ir::kNoSite && values_.function()[look_.op->site].api != ir::Api::None;
  const bool nothing = look_.op->kind == OpKind::Free && !by_call &&
                       span_of(values_, look_.store->evaluate(values_, look_.op->source)).memory == kNull;
  if (look_.op->stream.kind == ir::Operand::Kind::Value && !nothing)
    destroyed(look_.op->stream, look_.order->stream_of(values_, *look_.store, look_.index), false);
  if (look_.op->kind == OpKind::DestroyHandle && look_.op->source.kind == ir::Operand::Kind::Value) {
    const bool event = values_.function()[look_.op->source.place].type == ir::TypeKind::Event;
    const ValueId handle = look_.store->evaluate(values_, look_.op->source);
    destroyed(look_.op->source, handle, event);
    if (event) never_used(handle);
  }
}

void HandleQuestions::never_used(ValueId event) {
  const auto opened = look_.order->opened().find(event);
  if (opened == look_.order->opened().end() || !values_.precise(event)) return;
  // The other process sent the event so that somebody waits for it. A program that only tries whether it can be opened
  // gets the finding, too.
  Hazard hazard = look_.start(Check::EventNeverWaited, Level::Likely);
  hazard.later = witness_.action(look_.index, kUnknown);
  hazard.event = witness_.event(event, look_.op->source, look_.index);
  hazard.edge = witness_.where(opened->second);
  look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = opened->second});
}

void HandleQuestions::wait() {
  const ValueId event = look_.store->evaluate(values_, look_.op->event);
  const ValueId waiter =
      look_.op->kind == OpKind::Wait ? look_.order->stream_of(values_, *look_.store, look_.index) : kUnknown;
  waited_events_.emplace_back(event, look_.index);
  if (look_.order->never_recorded(values_, event)) {
    // A function that picks one of several events may pick a recorded one.
    const bool one_of_several =
        values_.of_a_callee(look_.index) && ir::is_of_each(values_.function(), look_.op->event.place);
    const bool perhaps = in_construction() || may_ask_for_record() || one_of_several;
    Hazard hazard = look_.start(Check::EventWaitWithoutRecord, perhaps ? Level::Maybe : Level::Definite);
    hazard.later = witness_.action(look_.index, waiter);
    hazard.event = witness_.event(event, look_.op->event, look_.index);
    hazard.cause = Cause::NeverRecorded;
    if (const EventState* state = look_.order->event(event); state != nullptr && state->failed != kNoOp) {
      hazard.which = CheckCase::AnotherDevice;
      hazard.edge = witness_.where(state->failed);
    }
    const std::vector<ir::Op>& ops = values_.function().blocks[look_.block].ops;
    for (std::uint32_t i = look_.position + 1; i < ops.size() && !hazard.edge; ++i)
      if (ops[i].kind == OpKind::Record && ops[i].event == look_.op->event)
        hazard.edge = witness_.where(look_.index + (i - look_.position));
    useless_wait_ = useless_wait_ || !perhaps;
    return look_.raise({.hazard = std::move(hazard), .later = look_.index});
  }
  const EventState* state = values_.precise(event) ? look_.order->event(event) : nullptr;
  if (look_.op->kind == OpKind::Wait && state != nullptr && state->record != kNoOp &&
      values_.must_equal(state->stream, waiter)) {
    Hazard hazard = look_.start(Check::SelfWait, Level::Definite);
    hazard.later = witness_.action(look_.index, waiter);
    hazard.earlier = witness_.action(state->record, state->stream);
    hazard.event = witness_.event(event, look_.op->event, look_.index);
    look_.raise({.hazard = std::move(hazard), .later = look_.index, .earlier = state->record});
    missed_join(event, waiter, *state);
  }
}

/// The constructor may call a method that waits for the last use of an object, before there was any use.
bool HandleQuestions::in_construction() const {
  if (look_.op->kind != OpKind::SyncEvent || !values_.of_a_callee(look_.index)) return false;
  const auto constructs = [](std::string_view function) {
    const std::string_view name = ir::last_component(function);
    if (name.size() == function.size()) return false;
    function.remove_suffix(name.size() + 2);
    return ir::last_component(function) == name;
  };
  return constructs(values_.function().name) ||
         std::ranges::any_of(witness_.where(look_.index).calls,
                             [&](const ir::Site& call) { return constructs(call.function); });
}

bool HandleQuestions::may_ask_for_record() const {
  const ir::Function& function = values_.function();
  const auto records = [&](const ir::Op& op) { return op.kind == OpKind::Record && op.event == look_.op->event; };
  const auto past_this = [&](std::size_t, std::size_t to) { return to != look_.block; };
  std::set<std::size_t> seen;
  for (std::size_t block = look_.block; seen.insert(block).second;) {
    // The only predecessor. Behind a join there is no branch to look at.
    std::optional<std::size_t> before;
    for (std::size_t from = 0; from < function.blocks.size(); ++from) {
      if (std::ranges::find(function.blocks[from].successors, block, [](ir::BlockId to) { return ir::at(to); }) ==
          function.blocks[from].successors.end())
        continue;
      if (before) return false;
      before = from;
    }
    if (!before) return false;
    const ir::Block& choice = function.blocks[*before];
    if (choice.successors.size() == 2 && choice.condition == ir::kNoExpr) {
      std::vector<std::size_t> others;
      for (const ir::BlockId to : choice.successors)
        if (ir::at(to) != block) others.push_back(ir::at(to));
      const std::vector<bool> passed = ir::reached(function, others, past_this);
      for (std::size_t i = 0; i < passed.size(); ++i)
        if (passed[i] && std::ranges::any_of(function.blocks[i].ops, records)) return true;
    }
    block = *before;
  }
  return false;
}

void HandleQuestions::missed_join(ValueId event, ValueId waiter, const EventState& state) {
  // Another stream has waited for this one and worked since, and this one never waits for it.
  for (const auto& [fork, work] : look_.order->busy()) {
    if (fork == kUnknown || !values_.precise(fork) || values_.must_equal(fork, waiter)) continue;
    OpIndex forked = kNoOp;
    bool joined = false;
    for (const auto& [op, edge] : look_.order->edges()) {
      if (values_.must_equal(edge.stream, fork) && values_.must_equal(edge.recorded_on, waiter)) forked = op;
      joined = joined || (values_.may_equal(edge.stream, waiter) && values_.may_equal(edge.recorded_on, fork));
    }
    if (forked == kNoOp || work < forked) continue;
    if (!values_.certainly_different(fork, waiter)) {
      look_.undecided = true;
      continue;
    }
    if (joined) continue;
    // Code that treats all its streams alike makes this one wait for itself, too, and joins the other one later.
    Hazard hazard = look_.start(Check::EventWaitWithoutRecord, Level::Maybe);
    hazard.later = witness_.action(look_.index, waiter);
    hazard.event = witness_.event(event, look_.op->event, look_.index);
    hazard.which = CheckCase::OwnStream;
    hazard.edge = witness_.where(state.record);
    const std::string name = witness_.stream(fork, values_.op(work).stream, work).name;
    hazard.evidence.push_back(
        {"this work" + (name.empty() ? std::string() : " on stream '" + name + "'") + " is not waited for",
         witness_.where(work)});
    look_.note_belief(hazard, fork, waiter);
    return look_.raise({.hazard = std::move(hazard), .later = look_.index});
  }
}

void HandleQuestions::record() {
  const ValueId event = look_.store->evaluate(values_, look_.op->event),
                stream = look_.order->stream_of(values_, *look_.store, look_.index);
  const EventState* state = values_.precise(event) ? look_.order->event(event) : nullptr;
  if (state == nullptr || state->used || state->record == kNoOp) return;
  if (!values_.certainly_different(state->stream, stream)) return;
  // Nothing is lost if the work that the first record covered is over, or is also covered by the second record.
  for (const Pending& p : look_.order->pending())
    if (p.access == kEventRecord && p.op == state->record && values_.may_equal(p.memory, event) &&
        look_.order->perhaps_before(values_, sets_, p.may, stream))
      return;
  Hazard hazard = look_.start(Check::EventRerecord, Level::Definite);
  hazard.later = witness_.action(look_.index, stream);
  hazard.earlier = witness_.action(state->record, state->stream);
  hazard.event = witness_.event(event, look_.op->event, look_.index);
  rerecords_.push_back({.hazard = std::move(hazard), .later = look_.index, .earlier = state->record});
  rerecord_events_.emplace_back(event, look_.index);
}

void HandleQuestions::elapsed() {
  for (const ir::Operand* operand : {&look_.op->event, &look_.op->event2}) {
    const ValueId event = look_.store->evaluate(values_, *operand);
    if (!values_.precise(event)) continue;
    Hazard hazard = look_.start(Check::EventTimingMisuse, Level::Definite);
    hazard.later = witness_.action(look_.index, kUnknown);
    hazard.event = witness_.event(event, *operand, look_.index);
    Raised raised{.hazard = {}, .later = look_.index};
    if (values_.timing(event) == false) {
      hazard.which = CheckCase::NoTiming;
    } else if (look_.order->never_recorded(values_, event)) {
      hazard.which = CheckCase::NotRecorded;
    } else if (operand == &look_.op->event2) {
      const Pending* marker = nullptr;
      for (const Pending& p : look_.order->pending())
        if (p.access == kEventRecord && values_.must_equal(p.memory, event)) marker = &p;
      if (marker == nullptr || sets_.has(marker->may, kHost)) continue;
      hazard.which = CheckCase::NotComplete;
      hazard.earlier = witness_.action(marker->op, marker->stream);
      raised.earlier = marker->op;
    } else {
      continue;
    }
    raised.hazard = std::move(hazard);
    look_.raise(std::move(raised));
  }
}

const ir::Site* HandleQuestions::awaited_elsewhere(ValueId event, const Raised& records) const {
  const Value& value = values_[event];
  if (look_.roles == nullptr || value.kind != Value::Kind::Content) return nullptr;
  LocationId at = value.location;
  while (values_[at].kind == Location::Kind::Index) at = values_[at].base;
  if (values_[at].kind != Location::Kind::Field) return nullptr;
  // Both records must be written in one function body, for a wait elsewhere. If two functions record the event once
  // each, the caller may mean the second record.
  if (witness_.where(records.earlier).site.function != witness_.where(records.later).site.function) return nullptr;
  return look_.roles->awaited(slot_of_field(values_.field_name(at)));
}

void HandleQuestions::conclude() {
  for (std::size_t i = 0; i < rerecords_.size(); ++i) {
    const auto [event, op] = rerecord_events_[i];
    // Two records in the body of a loop replace each other: the second one is reported.
    const bool around = std::ranges::any_of(rerecords_, [&](const Raised& r) {
      return rerecords_[i].earlier > op && r.later == rerecords_[i].earlier && r.earlier == op;
    });
    if (around) continue;
    // Nothing waits for it at all: then nobody relies on it.
    bool raised = false;
    for (const auto& [waited, by] : waited_events_) {
      if (by <= op || !values_.must_equal(waited, event)) continue;
      rerecords_[i].hazard.edge = witness_.where(by);
      look_.raise(std::move(rerecords_[i]));
      raised = true;
      break;
    }
    if (raised) continue;
    if (const ir::Site* wait = awaited_elsewhere(event, rerecords_[i])) {
      rerecords_[i].hazard.level = Level::Likely;
      rerecords_[i].hazard.edge = Where{*wait, {}};
      look_.raise(std::move(rerecords_[i]));
    }
  }
}

void HandleQuestions::ask() {
  handles();
  if (look_.order->capturing() != Tri::No) return;
  switch (look_.op->kind) {
    case OpKind::Wait:
    case OpKind::SyncEvent:
      return wait();
    case OpKind::Record:
      return record();
    case OpKind::Elapsed:
      return elapsed();
    default:
      return;
  }
}

}  // namespace streamsan::analyzer
