// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See duties.h.
#include "analyzer/analysis/duties.h"

#include <algorithm>

#include "analyzer/analysis/overlap.h"
#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::OpKind;
using LKind = Location::Kind;
using VKind = Value::Kind;

/// The stream that the caller works on; kNoPlace: there is none, or one of several.
ir::PlaceId stream_of_caller(const ir::Function& function) {
  ir::PlaceId only = ir::kNoPlace;
  for (const ir::PlaceId place : function.parameters) {
    if (function[place].type != ir::TypeKind::Stream) continue;
    if (only != ir::kNoPlace) return ir::kNoPlace;
    only = place;
  }
  return only;
}

bool is_tensor_field(const std::string& field) {
  const auto owner = ir::class_of_block(field);
  return owner && ir::is_tensor_class(*owner);
}

bool reads(ir::Mode mode) { return mode == ir::Mode::Read || mode == ir::Mode::ReadWrite; }

void add_bodies(const ir::Program& program, const std::string& usr, std::set<std::string>& bodies) {
  const auto found = program.functions.find(usr);
  if (found == program.functions.end() || !bodies.insert(usr).second) return;
  for (const ir::Block& block : found->second.blocks)
    for (const ir::Op& op : block.ops)
      if (op.kind == OpKind::Call) add_bodies(program, op.callee, bodies);
}

}  // namespace

std::optional<Duty> owe(ir::Function& closed, const ir::Program& program) {
  if (closed.blocks.empty() || !closed.incomplete.empty()) return std::nullopt;
  Duty duty;
  ir::PlaceId stream = stream_of_caller(closed);
  const bool given_streams = std::ranges::any_of(
      closed.parameters, [&](ir::PlaceId place) { return closed[place].type == ir::TypeKind::Stream; });
  if (!given_streams)
    for (std::size_t id = 0; id < closed.places.size(); ++id)
      if (ir::is(closed.places[id], ir::Hidden::CurrentStream)) {
        stream = ir::PlaceId{static_cast<std::uint32_t>(id)};
        duty.tensors = true;
      }
  if (stream == ir::kNoPlace) return std::nullopt;
  bool edges = false;
  for (const ir::Block& block : closed.blocks)
    for (const ir::Op& op : block.ops) edges = edges || op.kind == OpKind::Wait;
  if (!edges) return std::nullopt;
  add_bodies(program, closed.usr, duty.bodies);
  duty.event = closed.add(
      ir::Place{.kind = ir::Place::Kind::Temporary, .type = ir::TypeKind::Event, .name = ir::name(ir::Hidden::Entry)});
  ir::Op create{.kind = OpKind::CreateEvent, .site = closed.site, .target = duty.event};
  ir::Op record{.kind = OpKind::Record, .site = closed.site};
  record.event = {.kind = ir::Operand::Kind::Value, .place = duty.event};
  record.stream = {.kind = ir::Operand::Kind::Value, .place = stream};
  auto& ops = closed.blocks.front().ops;
  ops.insert(ops.begin(), std::move(record));
  ops.insert(ops.begin(), std::move(create));
  return duty;
}

void Duties::at(const Store& store, const Order& order, OpIndex index) {
  const ir::Op& op = values_.op(index);
  switch (op.kind) {
    case OpKind::Record:
      if (op.event.place != duty_.event) return;
      record_ = index;
      caller_ = store.stream(values_, op.stream);
      event_ = store.evaluate(values_, op.event);
      return;
    case OpKind::Wait: {
      const ValueId event = store.evaluate(values_, op.event);
      const EventState* state = values_.precise(event) ? order.event(event) : nullptr;
      if (state != nullptr && state->record != kNoOp)
        edges_.push_back({store.stream(values_, op.stream), state->stream, index});
      return;
    }
    case OpKind::Enqueue:
      return enqueue(store, order, index);
    case OpKind::KeepAlive:
      return keep(store, index);
    case OpKind::Free:
      // The last point at which the tensor is known.
      for (auto& [keeps, kept] : kept_)
        if (kept.memory == span_of(values_, store.evaluate(values_, op.source)).memory) judge(order, kept);
      return;
    case OpKind::Return:
      find_results(store, op.source.place);
      return leave(order);
    default:
      return;
  }
}

const Pending* Duties::entry(const Order& order) const {
  for (const Pending& p : order.pending())
    if (p.access == kEventRecord && p.op == record_ && p.memory == event_) return &p;
  return nullptr;
}

Slot Duties::slot(ValueId stream) const {
  LocationId at = values_[stream].location;
  if (at == kNowhere) return {};
  while (values_[at].kind == LKind::Index) at = values_[at].base;
  return values_[at].kind == LKind::Field ? slot_of_field(values_.field_name(at)) : Slot();
}

bool Duties::is_private(ValueId stream) const {
  if (stream == kUnknown || !values_.precise(stream) || !values_.certainly_different(stream, caller_)) return false;
  const Value& value = values_[stream];
  if (value.kind == VKind::Object) {
    const LocationId home = values_.home(value.site);
    return home != kNowhere && values_.local(home);
  }
  if (value.kind != VKind::Content) return false;
  // Code that is given the stream may order it, too. But where a tensor is used, its stream is known.
  if (duty_.tensors) return !slot(stream).empty();
  const ir::HandleField* field = values_.handle(stream);
  return field != nullptr && (field->owned || field->pooled) && !field->passed_on;
}

bool Duties::is_given(const ir::Op& op, const ir::Access& access, ValueId memory) const {
  if (op.transfers || access.pinned || access.pageable || access.on_host.value_or(false)) return false;
  // Which side of such a copy is on the device is not known.
  if (copies_or_fills(op) && !access.on_host) return false;
  const Value* held_by = &values_[memory];
  if (duty_.tensors && (held_by->location == kNowhere || values_[held_by->location].kind != LKind::Field ||
                        !is_tensor_field(values_.field_name(held_by->location))))
    return false;
  return is_of_parameter(memory);
}

bool Duties::is_of_parameter(ValueId memory) const {
  const Value* held_by = &values_[memory];
  while (true) {
    if (held_by->kind != VKind::Content || held_by->since != kUnknown || values_.local(held_by->location)) return false;
    const Location* at = &values_[held_by->location];
    while (at->kind == LKind::Field || at->kind == LKind::Index) at = &values_[at->base];
    if (at->kind == LKind::Root) {
      const ir::Place& root = values_.function()[at->root];
      return root.kind == ir::Place::Kind::Parameter && !root.inlined;
    }
    if (at->kind != LKind::Target) return false;
    held_by = &values_[at->pointer];
  }
}

bool Duties::is_kept_with(ValueId memory, ValueId stream) const {
  const auto object = [this](ValueId held) {
    LocationId at = values_[held].kind == VKind::Content ? values_[held].location : kNowhere;
    bool member = false;
    while (at != kNowhere && (values_[at].kind == LKind::Field || values_[at].kind == LKind::Index)) {
      member = member || values_[at].kind == LKind::Field;
      at = values_[at].base;
    }
    return member ? at : kNowhere;
  };
  return object(memory) != kNowhere && object(memory) == object(stream);
}

bool Duties::waits_for_unknown(const Order& order, ValueId stream) const {
  return std::ranges::any_of(order.edges(), [&](const auto& known) {
    const auto& [op, edge] = known;
    return values_.op(op).kind == OpKind::Wait && values_.may_equal(edge.stream, stream) && edge.record == kNoOp &&
           !edge.never;
  });
}

void Duties::enqueue(const Store& store, const Order& order, OpIndex index) {
  const ir::Op& op = values_.op(index);
  if (caller_ == kUnknown || order.capturing() != Tri::No || order.holds_back(op)) return;
  if (order.is_done_by_host(values_, store, index)) return;
  const ValueId stream = store.stream(values_, op.stream);
  const Pending* given = entry(order);
  if (given == nullptr || !is_private(stream)) return;
  const bool forked = order.perhaps_before(values_, sets_, given->may, stream) || waits_for_unknown(order, stream);
  for (std::uint16_t i = 0; i < op.accesses.size(); ++i) {
    const ir::Access& access = op.accesses[i];
    const ValueId memory = span_of(values_, store.evaluate(values_, access.memory)).memory;
    const Touched touched{index, i, memory, stream};
    if (duty_.tensors && writes(access.mode) && is_made_here(memory)) made_.push_back(touched);
    if (!is_given(op, access, memory)) continue;
    if (reads(access.mode) && !forked && !is_kept_with(memory, stream)) not_forked_.push_back(touched);
    if (writes(access.mode)) written_.try_emplace(index, touched);
  }
}

bool Duties::is_made_here(ValueId memory) const {
  const Value& value = values_[memory];
  return value.kind == VKind::Object && values_.op(value.site).kind == OpKind::Allocate &&
         values_.op(value.site).tensor;
}

void Duties::find_results(const Store& store, ir::PlaceId result) {
  if (made_.empty() || result == ir::kNoPlace) return;
  const ir::Function& function = values_.function();
  for (std::size_t id = 0; id < function.places.size(); ++id) {
    const ir::Place& part = function.places[id];
    if (part.base != result || !ir::is(part, ir::Hidden::Data)) continue;
    const ir::Operand block{.kind = ir::Operand::Kind::Value, .place = ir::PlaceId{static_cast<std::uint32_t>(id)}};
    const ValueId memory = span_of(values_, store.evaluate(values_, block)).memory;
    for (const Touched& work : made_)
      if (work.memory == memory) written_.try_emplace(work.op, work);
  }
}

void Duties::keep(const Store& store, OpIndex index) {
  const ir::Op& op = values_.op(index);
  const ValueId memory = span_of(values_, store.evaluate(values_, op.source)).memory;
  if (!duty_.tensors || caller_ == kUnknown || !values_.precise(memory) || !is_of_parameter(memory)) return;
  if (values_.must_equal(store.stream(values_, op.stream), caller_)) kept_.try_emplace(index, Kept{.memory = memory});
}

void Duties::judge(const Order& order, Kept& kept) const {
  const SetId streams = order.kept(sets_, kept.memory);
  const bool for_others = std::ranges::any_of(
      sets_[streams], [this](std::uint32_t stream) { return !values_.must_equal(ValueId{stream}, caller_); });
  if (for_others) {
    kept.settled = true;
    return;
  }
  for (const Pending& use : order.pending()) {
    if (use.access >= kWork || use.memory != kept.memory || !is_private(use.stream)) continue;
    if (sets_.has(use.may, kHost) || order.perhaps_before(values_, sets_, use.may, caller_)) {
      kept.settled = true;
    } else {
      kept.used = Touched{use.op, use.access, use.memory, use.stream};
    }
  }
}

bool Duties::is_left_to_others(const Order& order, const Pending& work) const {
  return std::ranges::any_of(sets_[work.may], [&](std::uint32_t token) {
    if (!is_event(token)) return false;
    const auto [by, always] = order.destroyed(value_of(token));
    // Such an object may have been moved to another owner.
    return by == kNoOp || !always || values_.op(by).of_object;
  });
}

void Duties::leave(const Order& order) {
  const Pending* given = entry(order);
  if (given == nullptr || order.capturing() != Tri::No) return;
  for (auto& [op, kept] : kept_) judge(order, kept);
  for (const Pending& work : order.pending()) {
    if (work.access != kWork || !is_private(work.stream)) continue;
    if (!order.surely_before(values_, sets_, given->must, work.stream) || sets_.has(given->must, kHost)) continue;
    const Value& stream = values_[work.stream];
    // A stream that outlives the function can be waited for later.
    const bool kept =
        stream.kind == VKind::Object && order.destroyed(work.stream).first == kNoOp && !values_.op(stream.site).pooled;
    const bool settled =
        kept || order.perhaps_before(values_, sets_, work.may, caller_) || is_left_to_others(order, work);
    (settled ? settled_ : owed_).insert(work.op);
  }
}

const Duties::Edge* Duties::edge(ValueId waiter, ValueId worker) const {
  const auto found = std::ranges::find_if(edges_, [&](const Edge& edge) {
    return values_.must_equal(edge.waiter, waiter) && values_.must_equal(edge.worker, worker);
  });
  return found == edges_.end() ? nullptr : &*found;
}

Hazard Duties::hazard_of(const Touched& work, const Edge& other, CheckCase what) const {
  const ir::Op& op = values_.op(work.op);
  Hazard hazard;
  hazard.check = Check::CrossStreamRace;
  hazard.level = Level::Likely;
  hazard.function = values_.function().name;
  hazard.usr = values_.function().usr;
  hazard.which = what;
  hazard.later = witness_.action(work.op, work.stream);
  hazard.later.mode = op.accesses[work.access].mode;
  // Which of two "current streams": the one that it is.
  if (const std::string own = witness_.stream(work.stream, {}, kNoOp).name; !own.empty())
    hazard.later.stream.name = own;
  Action caller;
  caller.where = witness_.where(values_.function().site);
  caller.stream = witness_.stream(caller_, values_.op(record_).stream, record_);
  if (duty_.tensors) caller.stream.describe("the current stream");
  hazard.earlier = std::move(caller);
  hazard.buffer = witness_.memory(work.memory, op.accesses[work.access].memory, work.op);
  hazard.edge = witness_.where(other.op);
  if (auto evidence = beliefs_.why(work.stream, caller_)) hazard.evidence.push_back(std::move(*evidence));
  return hazard;
}

std::optional<Hazard> Duties::hazard_of(OpIndex keep, const Kept& kept) const {
  if (kept.settled || !kept.used) return std::nullopt;
  const Touched& use = *kept.used;
  Hazard hazard;
  hazard.check = Check::MissingRecordStream;
  hazard.level = Level::Likely;
  hazard.function = values_.function().name;
  hazard.usr = values_.function().usr;
  hazard.later = witness_.action(keep, caller_);
  hazard.later.stream.describe("the current stream");
  hazard.earlier = witness_.action(use.op, use.stream);
  hazard.earlier->mode = values_.op(use.op).accesses[use.access].mode;
  if (const std::string own = witness_.stream(use.stream, {}, kNoOp).name; !own.empty())
    hazard.earlier->stream.name = own;
  hazard.buffer = witness_.memory(use.memory, values_.op(keep).source, keep);
  hazard.evidence.push_back(
      {"the tensor is kept here for the current stream alone, and so it is expected to end", witness_.where(keep)});
  if (auto evidence = beliefs_.why(use.stream, caller_)) hazard.evidence.push_back(std::move(*evidence));
  return hazard;
}

std::vector<Hazard> Duties::take() {
  std::vector<Hazard> result;
  std::set<ValueId> reported;
  // Blocks are not visited in source order: the body of a loop comes after the code that follows the loop.
  std::ranges::stable_sort(not_forked_, {}, [this](const Touched& work) {
    const Where where = witness_.where(work.op);
    const ir::Site& site = where.calls.empty() ? where.site : where.calls.back();
    return std::pair(site.line, site.column);
  });
  for (const Touched& work : not_forked_) {
    const Edge* join = edge(caller_, work.stream);
    if (join == nullptr || roles_.waits_elsewhere(slot(work.stream), duty_.bodies)) continue;
    if (reported.insert(work.stream).second) result.push_back(hazard_of(work, *join, CheckCase::NotForked));
  }
  for (const auto& [op, kept] : kept_)
    if (auto hazard = hazard_of(op, kept)) result.push_back(std::move(*hazard));
  reported.clear();
  for (const OpIndex op : owed_) {
    const auto written = written_.find(op);
    if (settled_.contains(op) || written == written_.end()) continue;
    const Touched& work = written->second;
    const Edge* fork = edge(work.stream, caller_);
    if (fork == nullptr || roles_.is_joined_elsewhere(slot(work.stream), duty_.bodies)) continue;
    if (reported.insert(work.stream).second) result.push_back(hazard_of(work, *fork, CheckCase::NotJoined));
  }
  return result;
}

}  // namespace streamsan::analyzer
