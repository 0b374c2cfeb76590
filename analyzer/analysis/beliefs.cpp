// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the evidence for beliefs. beliefs.h explains them.
#include "analyzer/analysis/beliefs.h"

#include <algorithm>
#include <string>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/naming.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::OpKind;
using LKind = Location::Kind;
using VKind = Value::Kind;

/// Is it the stream of a library's handle that an object or the program keeps? It was set elsewhere, usually by the
/// constructor, so it may be any stream of the class. A caller chooses the stream of a handle that it passes.
bool is_of_kept_handle(const Values& values, const Value& stream) {
  if (stream.kind != VKind::Content) return false;
  const Location* at = &values[stream.location];
  if (at->kind != LKind::Field) return false;
  const auto part = ir::hidden_part(values.field_name(stream.location));
  if (!part || part->hidden != ir::Hidden::Stream) return false;
  at = &values[at->base];
  if (at->kind == LKind::Target) at = &values[values[at->pointer].location];
  return at->kind != LKind::Root || values.function()[at->root].kind != ir::Place::Kind::Parameter;
}

}  // namespace

void Beliefs::see(Values& values, const Store& store, OpIndex index) {
  const ir::Op& op = values.op(index);
  if (op.kind != OpKind::Record && op.kind != OpKind::Wait) return;
  // An op behind a condition is evidence for the case in which the condition holds, and for no other.
  const ir::Function& function = values.function();
  for (std::uint32_t block = 0; op.kind == OpKind::Wait && block < function.blocks.size(); ++block) {
    const std::uint32_t at = index - values.first_op(block);
    if (index < values.first_op(block) || at >= function.blocks[block].ops.size()) continue;
    if (!ir::always_runs(function, block, at)) return;
  }
  switch (op.kind) {
    case OpKind::Record:
      records_.push_back({store.evaluate(values, op.event), store.stream(values, op.stream), index});
      return;
    case OpKind::Wait:
      waits_.push_back({store.evaluate(values, op.event), store.stream(values, op.stream), index});
      return;
    default:
      return;
  }
}

void Beliefs::conclude() {
  const auto add = [&](ValueId a, ValueId b, const char* what, OpIndex op) {
    if (a != b && a != kUnknown && b != kUnknown) here_.try_emplace(pair(a, b), what, op);
  };
  for (const Use& wait : waits_)
    for (const Use& record : records_)
      if (values_.must_equal(wait.event, record.event))
        add(wait.stream, record.stream, "waits here for work of", wait.op);
}

Beliefs::Origin Beliefs::origin(ValueId stream) const {
  const Value& value = values_[stream];
  if (value.kind == VKind::Content || value.kind == VKind::Merge) {
    if (const ir::HandleField* field = values_.handle(stream); field != nullptr && (field->owned || field->pooled))
      return Origin::Own;
  }
  if (value.kind == VKind::Version) {
    const ir::Op& op = values_.op(value.site);
    const bool is_stream = op.target != ir::kNoPlace && values_.function()[op.target].type == ir::TypeKind::Stream;
    return is_stream && op.kind == OpKind::Fresh && ir::gives_new(op.name) ? Origin::Taken : Origin::Other;
  }
  if (is_of_kept_handle(values_, value)) return Origin::Other;
  // Its class creates it, but perhaps has not yet. Then it is null, as another stream may be.
  if (const ir::HandleField* field = values_.handle(stream); field != nullptr && field->perhaps_null)
    return Origin::Other;
  return values_.from_outside(stream) && values_.is_stream(stream) ? Origin::Outside : Origin::Other;
}

Slot Beliefs::slot(ValueId stream) const {
  const Value& value = values_[stream];
  if (value.kind != VKind::Content && value.kind != VKind::Merge) return {};
  const Location& at = values_[value.location];
  if (at.kind == LKind::Field) return slot_of_field(values_.field_name(value.location));
  if (at.kind != LKind::Root) return {};
  const ir::Place& place = values_.function()[at.root];
  if (place.kind == ir::Place::Kind::Global) return slot_of_global(place.name);
  if (place.kind == ir::Place::Kind::Parameter) return slot_of_parameter(values_.function().usr, place.number);
  return {};
}

std::string Beliefs::name(ValueId stream) const {
  const std::string name = witness_.stream(stream, {}, kNoOp).name;
  if (name.empty()) return "a stream";
  return ir::hidden_part(name) ? "the current stream" : "stream '" + name + "'";
}

std::optional<Evidence> Beliefs::find(ValueId a, ValueId b) const {
  if (a == b || !values_.precise(a) || !values_.precise(b)) return std::nullopt;
  const Slot one = slot(a), other = slot(b);
  if (!one.empty() && (one == other || roles_.perhaps_one(one, other))) return std::nullopt;
  const Origin mine = origin(a), theirs = origin(b);
  if (mine == Origin::Other || theirs == Origin::Other) return std::nullopt;
  // A class that gives its stream out may get it back as an argument.
  const auto given_out = [&](ValueId stream) {
    const ir::HandleField* field = values_.handle(stream);
    return field != nullptr && field->passed_on;
  };
  const bool may_be_back = (mine == Origin::Own && theirs == Origin::Outside && given_out(a)) ||
                           (theirs == Origin::Own && mine == Origin::Outside && given_out(b));
  const bool both_outside = may_be_back || (mine == Origin::Outside && theirs == Origin::Outside);
  if (!both_outside && (mine != Origin::Own || theirs != Origin::Own)) {
    // The one that is new says why.
    const bool first = mine == Origin::Taken || (mine == Origin::Own && theirs != Origin::Taken);
    const ValueId its = first ? a : b;
    if (values_[its].kind == VKind::Version) {
      const OpIndex op = values_[its].site;
      return Evidence{name(its) + " is got from '" + values_.op(op).name + "' here, for this work alone as it seems",
                      witness_.where(op)};
    }
    const ir::HandleField& field = *values_.handle(its);
    return Evidence{name(its) +
                        (field.pooled ? " is taken by its class for itself here" : " is created by its class here") +
                        ", and " + name(first ? b : a) + " comes from outside",
                    Where{field.made, {}}};
  }
  if (const auto here = here_.find(pair(a, b)); here != here_.end())
    return Evidence{"the two are treated as two streams: one " + std::string(here->second.first) + " the other",
                    witness_.where(here->second.second)};
  if (const Roles::Reason* reason = roles_.two(one, other); reason != nullptr)
    return Evidence{"the two are treated as two streams: one " + reason->what + " the other", Where{reason->site, {}}};
  return std::nullopt;
}

bool Beliefs::two(ValueId a, ValueId b) const {
  const Pair key = pair(a, b);
  const auto [entry, is_new] = known_.try_emplace(key, false);
  if (is_new) entry->second = find(a, b).has_value();
  if (entry->second && !used_) used_ = key;
  return entry->second;
}

std::optional<Evidence> Beliefs::why(ValueId a, ValueId b) const { return two(a, b) ? find(a, b) : std::nullopt; }

std::optional<Evidence> Beliefs::any() const { return used_ ? find(used_->first, used_->second) : std::nullopt; }

}  // namespace streamsan::analyzer
