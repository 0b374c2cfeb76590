// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which names certainly mean different values, and which may mean the same one. values.h explains it.
#include <algorithm>
#include <iterator>

#include "analyzer/analysis/beliefs.h"
#include "analyzer/analysis/values.h"

namespace streamsan::analyzer {
namespace {

using LKind = Location::Kind;
using VKind = Value::Kind;

bool created_here(const Value& value) { return value.kind == VKind::Object; }
bool default_stream(const Value& value) { return value.kind == VKind::Legacy || value.kind == VKind::PerThread; }

}  // namespace

bool Values::different(KeyId a, KeyId b) const {
  const Key &i = (*this)[a], &j = (*this)[b];
  return i.constant && j.constant && i.unit == j.unit && *i.constant != *j.constant;
}

bool Values::may_overlap(LocationId a, LocationId b) const {
  if (a == b) return true;
  const Location &left = (*this)[a], &right = (*this)[b];
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case LKind::Field:
      return left.field == right.field && may_overlap(left.base, right.base);
    case LKind::Index:
      return !different(left.key, right.key) && may_overlap(left.base, right.base);
    default:
      return false;
  }
}

bool Values::different_slots(LocationId a, LocationId b) const {
  const Location &left = (*this)[a], &right = (*this)[b];
  if (left.kind != right.kind) return false;
  if (left.base == right.base) {
    if (left.kind == LKind::Field) return left.field != right.field;
    if (left.kind != LKind::Index) return false;
    return different(left.key, right.key);
  }
  return (left.kind == LKind::Field || left.kind == LKind::Index) && different_slots(left.base, right.base);
}

std::vector<bool> Values::reachable(std::uint32_t block) const {
  std::vector<bool> seen(function_.blocks.size());
  std::vector<std::uint32_t> work{block};
  while (!work.empty()) {
    const std::uint32_t from = work.back();
    work.pop_back();
    for (ir::BlockId successor : function_.blocks[from].successors) {
      const auto to = static_cast<std::uint32_t>(successor);
      if (seen[to]) continue;
      seen[to] = true;
      work.push_back(to);
    }
  }
  return seen;
}

bool Values::counts(std::uint32_t head, ir::PlaceId place) const {
  // What is written is `for (...; i < n; ++i)`; the IR has `i < n` at the head and, as the last thing of an iteration,
  // a new version of `i`. The bound implies that this version of `i` is a new value: a loop that set `i` back would not
  // end.
  const ir::ExprId condition = function_.blocks[head].condition;
  if (condition == ir::kNoExpr) return false;
  const std::string& text = function_[condition].text;
  const std::string counted = function_.spell(place);
  // The other side of the comparison may be a call, but must not contain `i`.
  const bool alone = text.starts_with(counted + " <") || text.starts_with(counted + " !=");
  if (text.find_first_of(alone ? "%&|^?" : "%&|^?(") != std::string::npos ||
      std::ranges::count(function_[condition].uses, place) != 1)
    return false;
  const bool bounded = text.starts_with(counted + " <") || text.starts_with(counted + " >") ||
                       text.starts_with(counted + " !=") || text.ends_with("< " + counted) ||
                       text.ends_with("> " + counted) || text.ends_with("= " + counted);
  if (!bounded || text.find("==") != std::string::npos) return false;
  const std::vector<bool> after = reachable(head);
  std::size_t steps = 0;
  for (std::uint32_t block = 0; block < function_.blocks.size(); ++block) {
    if (!after[block] || !reachable(block)[head]) continue;
    const ir::Block& here = function_.blocks[block];
    const bool leads_back = here.successors.size() == 1 && static_cast<std::uint32_t>(here.successors[0]) == head;
    for (auto op = here.ops.begin(); op != here.ops.end(); ++op) {
      const bool escapes = op->kind == ir::OpKind::Escape && op->source.place == place;
      if (op->target != place && !escapes) continue;
      // An outer loop sets it to zero again, or the body changes it.
      const bool step = leads_back && std::all_of(op, here.ops.end(), [](const ir::Op& o) {
                          return o.kind == ir::OpKind::Fresh || o.source.kind == ir::Operand::Kind::Number;
                        });
      if (!step || ++steps > 1) return false;
    }
  }
  return steps == 1;
}

bool Values::created_in_place(MakersId makers) const {
  const auto root = [this](ir::PlaceId place) {
    while (function_[place].base != ir::kNoPlace) {
      if (function_[place].kind == ir::Place::Kind::Deref) return ir::kNoPlace;
      place = function_[place].base;
    }
    return place;
  };
  for (OpIndex maker : (*this)[makers]) {
    const ir::PlaceId target = op(maker).target;
    if (target == ir::kNoPlace || function_[target].kind != ir::Place::Kind::Index) return false;
    const ir::PlaceId array = root(target);
    if (array == ir::kNoPlace) return false;
    for (const ir::Op* other : ops_) {
      if (other->kind != ir::OpKind::Assign || other->source.kind == ir::Operand::Kind::Null) continue;
      const ir::Place& place = function_[other->target];
      if (place.type != function_[target].type || place.base == ir::kNoPlace) continue;
      const ir::PlaceId into = root(other->target);
      if (into == ir::kNoPlace || into == array) return false;
    }
  }
  return true;
}

bool Values::different_iterations(const Value& left, const Value& right) const {
  if (left.kind != VKind::Content || right.kind != VKind::Content || left.since != right.since) return false;
  const ir::HandleField *mine = handle_field(left.location), *theirs = handle_field(right.location);
  const bool owned = mine != nullptr && mine == theirs && mine->owned && !mine->copied;
  if (!owned && (left.makers == kNoMakers || left.makers != right.makers)) return false;
  if (left.since != kUnknown && !precise(left.since)) return false;
  const Location &x = (*this)[left.location], &y = (*this)[right.location];
  if (x.kind != LKind::Index || y.kind != LKind::Index || x.base != y.base || !precise(x.base)) return false;
  const Key &i = (*this)[x.key], &j = (*this)[y.key];
  if (i.text != "$0" || j.text != "$0" || i.values.size() != 1 || j.values.size() != 1) return false;
  const Value &first = (*this)[i.values[0]], &second = (*this)[j.values[0]];
  if (first.kind != VKind::Merge || second.kind != VKind::Merge || first.older == second.older) return false;
  if (first.site != second.site || first.location != second.location) return false;
  const Location& counter = (*this)[first.location];
  return counter.kind == LKind::Root && counts(first.site, counter.root) && (owned || created_in_place(left.makers));
}

bool Values::from_outside(ValueId id) const {
  const Value* held_by = &(*this)[id];
  while (true) {
    if (held_by->kind != VKind::Content || held_by->since != kUnknown || local(held_by->location)) return false;
    const Location* at = &(*this)[held_by->location];
    while (at->kind == LKind::Field || at->kind == LKind::Index || at->kind == LKind::Stamp) at = &(*this)[at->base];
    if (at->kind != LKind::Target) return at->kind == LKind::Root;
    held_by = &(*this)[at->pointer];
  }
}

bool Values::certainly_different(ValueId a, ValueId b) const {
  if (proved_different(a, b)) return true;
  if (beliefs_ == nullptr) return false;
  const auto of_any_device = [this](ValueId stream) {
    return !is_default_stream(stream) ? stream : is_legacy(stream) ? kLegacy : kPerThread;
  };
  return beliefs_->two(of_any_device(a), of_any_device(b));
}

bool Values::proved_different(ValueId a, ValueId b) const {
  if (a == b || a == kUnknown || b == kUnknown) return false;
  ValueId left_id = a, right_id = b;
  if (static_cast<int>((*this)[a].kind) > static_cast<int>((*this)[b].kind)) std::swap(left_id, right_id);
  const Value *left = &(*this)[left_id], *right = &(*this)[right_id];
  const auto held = [](const Value& v) { return v.kind == VKind::Content || v.kind == VKind::Merge; };
  const auto owner = [this, held](const Value& v) -> const ir::HandleField* {
    const ir::HandleField* field = held(v) ? handle_field(v.location) : nullptr;
    return field != nullptr && field->owned ? field : nullptr;
  };
  if (default_stream(*left) && right->kind == left->kind)
    return left->key != kWhole && right->key != kWhole;  // R-STR-22
  if (default_stream(*left) || left->kind == VKind::Null) {
    if (default_stream(*right) || right->kind == VKind::Null || created_here(*right)) return true;
    return right->makers != kNoMakers || owner(*right) != nullptr;
  }
  if (created_here(*left)) {
    if (created_here(*right)) return left->site != right->site || left->older != right->older;
    if (right->makers != kNoMakers) {
      const std::vector<OpIndex>& ops = (*this)[right->makers];
      return !std::binary_search(ops.begin(), ops.end(), left->site);
    }
    const ir::HandleField* field = owner(*right);
    const LocationId home = homes_[left->site];
    // Created for another field than the one that keeps what it creates.
    if (field != nullptr && home != kNowhere && (*this)[home].kind == LKind::Field && handle_field(home) != field)
      return true;
    return from_outside(right_id);
  }
  if (!held(*left) || !held(*right)) return false;
  if (left->makers != kNoMakers && right->makers != kNoMakers) {
    std::vector<OpIndex> common;
    const std::vector<OpIndex>&x = (*this)[left->makers], &y = (*this)[right->makers];
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
    if (common.empty()) return true;
  } else if ((left->makers != kNoMakers && from_outside(right_id)) ||
             (right->makers != kNoMakers && from_outside(left_id))) {
    return true;
  }
  if (different_iterations(*left, *right)) return true;
  // Each handle is created for one field of one class, in any object.
  if (owner(*left) != nullptr && owner(*right) != nullptr && owner(*left) != owner(*right)) return true;
  if (!precise(a) || !precise(b)) return false;
  if (owner(*left) != nullptr && owner(*right) != nullptr)
    return !owner(*left)->copied && different_slots(left->location, right->location);
  // Elements of one array of handles: programs do not keep one handle twice in it.
  const Location &x = (*this)[left->location], &y = (*this)[right->location];
  return x.kind == LKind::Index && y.kind == LKind::Index && x.base == y.base &&
         different_slots(left->location, right->location);
}

}  // namespace streamsan::analyzer
