// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interning, comparing and aging of names. The essay is in values.h.
//
// A name is precise if no older thing, unknown thing or unnamed index occurs in it anywhere: then it means one concrete
// value at each moment.
#include "analyzer/analysis/values.h"

#include <algorithm>
#include <utility>

#include "analyzer/analysis/key_text.h"

namespace streamsan::analyzer {
namespace {

using LKind = Location::Kind;
using VKind = Value::Kind;

bool created_here(const Value& value) { return value.kind == VKind::Object; }
bool default_stream(const Value& value) { return value.kind == VKind::Legacy || value.kind == VKind::PerThread; }

std::size_t mix(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15U ^ seed >> 29U; }

}  // namespace

Values::Values(const ir::Function& function, const ir::Program& program) : function_(function) {
  for (const ir::Block& block : function.blocks) {
    first_op_.push_back(static_cast<OpIndex>(ops_.size()));
    for (const ir::Op& op : block.ops) ops_.push_back(&op);
  }
  minted_.resize(ops_.size());
  homes_.resize(ops_.size());
  parts_.resize(function.places.size());
  exprs_.resize(function.exprs.size());
  field_of_.resize(function.places.size());
  std::unordered_map<std::string, FieldId> fields;
  for (std::size_t i = 0; i < function.places.size(); ++i) {
    const ir::Place& place = function.places[i];
    const ir::PlaceId id{static_cast<std::uint32_t>(i)};
    if (place.base != ir::kNoPlace) {
      parts_[static_cast<std::size_t>(place.base)].push_back(id);
    }
    // An integer has no maker.
    if (place.kind == ir::Place::Kind::Index && place.type != ir::TypeKind::Integer) elements_.push_back(id);
    if (place.kind == ir::Place::Kind::Field) {
      std::string name = place.owner + "::" + place.name;
      const auto [it, added] = fields.try_emplace(name, FieldId{static_cast<std::uint32_t>(fields_.size())});
      if (added) {
        const auto handle = program.fields.find(name);
        fields_.push_back({std::move(name), handle == program.fields.end() ? nullptr : &handle->second});
      }
      field_of_[i] = it->second;
    }
  }
  keys_.push_back({});
  key_mentions_.push_back(0);
  key_ids_[keys_.back()] = kWhole;
  for (VKind kind : {VKind::Unknown, VKind::Null, VKind::Legacy, VKind::PerThread}) value({.kind = kind});
  location({});
  key({.text = "?", .precise = false});
  makers({});
}

ValueId Values::value(const Value& value) {
  const auto [it, added] = value_ids_.try_emplace(value, ValueId{static_cast<std::uint32_t>(values_.size())});
  if (added) {
    if (value.kind == VKind::Object || value.kind == VKind::Version) minted_[value.site] = true;
    values_.push_back({.value = value, .precise = is_precise(value), .mentions = mentions(value)});
  }
  return it->second;
}

std::size_t Values::Hash::operator()(const Value& value) const {
  std::size_t seed = mix(static_cast<std::size_t>(value.kind) * 2 + (value.older ? 1 : 0), value.site);
  seed = mix(seed, static_cast<std::size_t>(value.location));
  seed = mix(seed, static_cast<std::size_t>(value.since));
  seed = mix(seed, static_cast<std::size_t>(value.key));
  return mix(seed, static_cast<std::size_t>(value.makers));
}

std::size_t Values::Hash::operator()(const Location& location) const {
  std::size_t seed = mix(static_cast<std::size_t>(location.kind), static_cast<std::size_t>(location.root));
  seed = mix(seed, static_cast<std::size_t>(location.field));
  seed = mix(seed, static_cast<std::size_t>(location.base));
  seed = mix(seed, static_cast<std::size_t>(location.key));
  return mix(seed, static_cast<std::size_t>(location.pointer));
}

Values::Filter Values::mentions(const Value& value) const {
  Filter all = 0;
  if (!value.older && (value.kind == VKind::Object || value.kind == VKind::Version)) all |= filter(value.site);
  if (!value.older && value.kind == VKind::Merge) all |= filter_of_block(value.site);
  if (value.location != kNowhere) all |= known(value.location).mentions;
  if (value.since != kUnknown) all |= known(value.since).mentions;
  return all | mentions(value.key);
}

LocationId Values::location(const Location& location) {
  const auto [it, added] =
      location_ids_.try_emplace(location, LocationId{static_cast<std::uint32_t>(locations_.size())});
  if (added) {
    KnownLocation made{.location = location, .precise = is_precise(location), .top = it->second};
    const bool part = location.kind == LKind::Field || location.kind == LKind::Index;
    if (part || location.kind == LKind::Stamp) {
      made.top = top(location.base);
      made.mentions = known(location.base).mentions;
    }
    if (part) made.constant_path = constant_path(location.base);
    if (location.kind == LKind::Index) {
      made.constant_path = made.constant_path && (*this)[location.key].constant.has_value();
      made.mentions |= mentions(location.key);
    }
    if (location.kind == LKind::Target) made.mentions = known(location.pointer).mentions;
    if (location.kind == LKind::Root) {
      const ir::Place::Kind kind = function_[location.root].kind;
      made.local = kind == ir::Place::Kind::Local || kind == ir::Place::Kind::Temporary;
    }
    locations_.push_back(std::move(made));
  }
  return it->second;
}

bool Values::is_precise(const Value& value) const {
  if (value.older) return false;
  switch (value.kind) {
    case VKind::Unknown:
      return false;
    case VKind::Content:
      return precise(value.location) && (value.since == kUnknown || precise(value.since));
    case VKind::Address:
    case VKind::Merge:
      return precise(value.location);
    case VKind::Shifted:
      return precise(value.since) && precise(value.key);
    case VKind::Null:
    case VKind::Legacy:
    case VKind::PerThread:
    case VKind::Object:
    case VKind::Version:
      return true;
  }
  return false;
}

bool Values::is_precise(const Location& location) const {
  switch (location.kind) {
    case LKind::Nowhere:
      return false;
    case LKind::Root:
      return true;
    case LKind::Field:
      return precise(location.base);
    case LKind::Index:
      return precise(location.base) && precise(location.key);
    case LKind::Target:
      return precise(location.pointer);
    case LKind::Stamp:
      return true;
  }
  return false;
}

ValueId Values::address(LocationId location) {
  if (location == kNowhere) return kUnknown;
  const Location& at = (*this)[location];
  // &array[i] is a pointer into the array, so that it meets uses of the whole array.
  if (at.kind == LKind::Index) return shifted(address(at.base), at.key);
  if (at.kind == LKind::Target) return at.pointer;
  return value({.kind = VKind::Address, .location = location});
}

ValueId Values::merge(std::uint32_t block, LocationId location) {
  return value({.kind = VKind::Merge, .site = block, .location = location});
}

ValueId Values::shifted(ValueId pointer, KeyId offset) {
  if (offset == kWhole || pointer == kUnknown || pointer == kNull) return pointer;
  const Value base = (*this)[pointer];
  if (base.kind == VKind::Shifted) return shifted(base.since, sum(base.key, offset));
  return value({.kind = VKind::Shifted, .since = pointer, .key = offset});
}

ValueId Values::content(LocationId location, ValueId since, MakersId makers) {
  if (location == kNowhere) return kUnknown;
  return value({.kind = VKind::Content, .location = location, .since = since, .makers = makers});
}

LocationId Values::root(ir::PlaceId place, ir::PlaceId seen) {
  const LocationId id = location({.kind = LKind::Root, .root = place});
  known(id).seen = seen;
  return id;
}

LocationId Values::field(LocationId base, ir::PlaceId field) {
  if (base == kNowhere) return kNowhere;
  const FieldId name = field_of_[static_cast<std::size_t>(field)];
  const LocationId id = location({.kind = LKind::Field, .field = name, .base = base});
  known(id).seen = field;
  return id;
}

LocationId Values::element(LocationId base, KeyId key, ir::PlaceId seen) {
  if (base == kNowhere) return kNowhere;
  const LocationId id = location({.kind = LKind::Index, .base = base, .key = key});
  known(id).seen = seen;
  return id;
}

LocationId Values::target(ValueId pointer, ir::PlaceId seen) {
  const Value& value = (*this)[pointer];
  if (value.kind == VKind::Address) return value.location;
  if (value.kind == VKind::Shifted) return element(target(value.since, seen), value.key, seen);
  if (pointer == kUnknown || pointer == kNull) return kNowhere;
  const LocationId id = location({.kind = LKind::Target, .pointer = pointer});
  known(id).seen = seen;
  return id;
}

LocationId Values::stamp(LocationId base, KeyId flavour) {
  const std::size_t slot = flavour == kWhole ? 0 : 1;
  if (const auto made = known(base).stamps[slot]) return *made;
  const LocationId id = location({.kind = LKind::Stamp, .base = base, .key = flavour});
  known(base).stamps[slot] = id;
  return id;
}

KeyId Values::key(Key key) {
  if (key.constant)
    key = {.text = std::to_string(*key.constant), .values = {}, .constant = key.constant, .precise = true};
  for (ValueId used : key.values) key.precise = key.precise && precise(used);
  const auto [it, added] = key_ids_.try_emplace(key, KeyId{static_cast<std::uint32_t>(keys_.size())});
  if (added) {
    Filter all = 0;
    for (ValueId used : key.values) all |= known(used).mentions;
    key_mentions_.push_back(all);
    keys_.push_back(std::move(key));
  }
  return it->second;
}

KeyId Values::key(ir::ExprId id, std::vector<ValueId> values) {
  NamedExpr& named = exprs_[static_cast<std::size_t>(id)];
  const ir::Expr& expr = function_[id];
  if (!named.made) {
    named.made = true;
    named.text = expr.text;
    if (!expr.constant) {
      named.precise = !expr.uses.empty() && !has_effects_or_calls(expr.text);
      for (std::size_t i = 0; i < expr.uses.size(); ++i)
        named.text = replace_all(std::move(named.text), function_.spell(expr.uses[i]), "$" + std::to_string(i));
    }
  }
  if (const auto made = named.keys.find(values); made != named.keys.end()) return made->second;
  Key name{.text = named.text, .values = values, .constant = expr.constant, .precise = named.precise};
  return named.keys[std::move(values)] = key(std::move(name));
}

KeyId Values::sum(KeyId a, KeyId b) {
  if (a == kWhole) return b;
  if (b == kWhole) return a;
  const Key &left = (*this)[a], &right = (*this)[b];
  if (left.constant && right.constant) {
    std::int64_t total = 0;
    if (__builtin_add_overflow(*left.constant, *right.constant, &total)) return kSomewhere;
    return key({.text = {}, .values = {}, .constant = total});
  }
  Key result{.text = left.text + " + " + right.text, .values = left.values};
  result.values.insert(result.values.end(), right.values.begin(), right.values.end());
  result.precise = left.precise && right.precise;
  return key(std::move(result));
}

MakersId Values::makers(std::vector<OpIndex> ops) {
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  const auto [it, added] = makers_ids_.try_emplace(ops, MakersId{static_cast<std::uint32_t>(makers_.size())});
  if (added) makers_.push_back(std::move(ops));
  return it->second;
}

MakersId Values::join(MakersId a, MakersId b) {
  if (a == b) return a;
  if (a == kNoMakers || b == kNoMakers) return kNoMakers;
  std::vector<OpIndex> all = (*this)[a];
  all.insert(all.end(), (*this)[b].begin(), (*this)[b].end());
  return makers(std::move(all));
}

LocationId Values::starred(LocationId id) {
  Location at = (*this)[id];
  if (at.kind != LKind::Field && at.kind != LKind::Index) return id;
  if (const auto made = known(id).starred) return *made;
  at.base = starred(at.base);
  if (at.kind == LKind::Index) at.key = kSomewhere;
  const LocationId result = location(at);
  known(id).starred = result;
  return result;
}

bool Values::inside(LocationId inner, LocationId outer) const {
  if (top(inner) != top(outer)) return false;
  for (LocationId at = inner;; at = (*this)[at].base) {
    if (at == outer) return true;
    const LKind kind = (*this)[at].kind;
    if (kind != LKind::Field && kind != LKind::Index) return false;
  }
}

bool Values::may_overlap(LocationId a, LocationId b) const {
  if (a == b) return true;
  const Location &left = (*this)[a], &right = (*this)[b];
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case LKind::Field:
      return left.field == right.field && may_overlap(left.base, right.base);
    case LKind::Index: {
      const Key &i = (*this)[left.key], &j = (*this)[right.key];
      return !(i.constant && j.constant && *i.constant != *j.constant) && may_overlap(left.base, right.base);
    }
    default:
      return false;
  }
}

const ir::HandleField* Values::handle_field(LocationId id) const {
  for (const Location* at = &(*this)[id];; at = &(*this)[at->base]) {
    if (at->kind == LKind::Field) {
      return fields_[static_cast<std::size_t>(at->field)].handle;
    }
    if (at->kind != LKind::Index) return nullptr;
  }
}

bool Values::different_slots(LocationId a, LocationId b) const {
  const Location &left = (*this)[a], &right = (*this)[b];
  if (left.kind != right.kind) return false;
  if (left.base == right.base) {
    if (left.kind == LKind::Field) return left.field != right.field;
    if (left.kind != LKind::Index) return false;
    const Key &i = (*this)[left.key], &j = (*this)[right.key];
    return i.constant && j.constant && *i.constant != *j.constant;
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
  // a new version of `i`. That this is another step and no value seen before is taken from the bound: a loop that
  // brought `i` back there would not end.
  const ir::ExprId condition = function_.blocks[head].condition;
  if (condition == ir::kNoExpr) return false;
  const std::string& text = function_[condition].text;
  const std::string counted = function_.spell(place);
  if (text.find_first_of("%&|^?(") != std::string::npos || std::ranges::count(function_[condition].uses, place) != 1)
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
      // Set to zero again by an outer loop, or changed in the body.
      const bool step =
          leads_back && std::all_of(op, here.ops.end(), [](const ir::Op& o) { return o.kind == ir::OpKind::Fresh; });
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
  if (left.makers == kNoMakers || left.makers != right.makers) return false;
  if (left.since != kUnknown && !precise(left.since)) return false;
  const Location &x = (*this)[left.location], &y = (*this)[right.location];
  if (x.kind != LKind::Index || y.kind != LKind::Index || x.base != y.base || !precise(x.base)) return false;
  const Key &i = (*this)[x.key], &j = (*this)[y.key];
  if (i.text != "$0" || j.text != "$0" || i.values.size() != 1 || j.values.size() != 1) return false;
  const Value &first = (*this)[i.values[0]], &second = (*this)[j.values[0]];
  if (first.kind != VKind::Merge || second.kind != VKind::Merge || first.older == second.older) return false;
  if (first.site != second.site || first.location != second.location) return false;
  const Location& counter = (*this)[first.location];
  return counter.kind == LKind::Root && counts(first.site, counter.root) && created_in_place(left.makers);
}

bool Values::certainly_different(ValueId a, ValueId b) const {
  if (a == b || a == kUnknown || b == kUnknown) return false;
  const Value *left = &(*this)[a], *right = &(*this)[b];
  if (static_cast<int>(left->kind) > static_cast<int>(right->kind)) std::swap(left, right);
  const auto held = [](const Value& v) { return v.kind == VKind::Content || v.kind == VKind::Merge; };
  const auto owner = [this, held](const Value& v) -> const ir::HandleField* {
    const ir::HandleField* field = held(v) ? handle_field(v.location) : nullptr;
    return field != nullptr && field->owned ? field : nullptr;
  };
  if (default_stream(*left) || left->kind == VKind::Null) {
    if (default_stream(*right) || right->kind == VKind::Null || created_here(*right)) return true;
    return right->makers != kNoMakers || owner(*right) != nullptr;
  }
  // Held when the function was entered, so before anything was created here. What a pointer points to counts only if
  // the pointer itself came from outside: one made here may point to a handle made here.
  const auto initial = [this](const Value& v) {
    const Value* held_by = &v;
    while (true) {
      if (held_by->kind != VKind::Content || held_by->since != kUnknown || local(held_by->location)) return false;
      const Location* at = &(*this)[held_by->location];
      while (at->kind == LKind::Field || at->kind == LKind::Index || at->kind == LKind::Stamp) at = &(*this)[at->base];
      if (at->kind != LKind::Target) return at->kind == LKind::Root;
      held_by = &(*this)[at->pointer];
    }
  };
  if (created_here(*left)) {
    if (created_here(*right)) return left->site != right->site || left->older != right->older;
    if (right->makers != kNoMakers) {
      const std::vector<OpIndex>& ops = (*this)[right->makers];
      return !std::binary_search(ops.begin(), ops.end(), left->site);
    }
    return initial(*right);
  }
  if (!held(*left) || !held(*right)) return false;
  if (left->makers != kNoMakers && right->makers != kNoMakers) {
    std::vector<OpIndex> common;
    const std::vector<OpIndex>&x = (*this)[left->makers], &y = (*this)[right->makers];
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(common));
    if (common.empty()) return true;
  } else if ((left->makers != kNoMakers && initial(*right)) || (right->makers != kNoMakers && initial(*left))) {
    return true;
  }
  if (different_iterations(*left, *right)) return true;
  if (!precise(a) || !precise(b)) return false;
  if (owner(*left) != nullptr && owner(*right) != nullptr) return different_slots(left->location, right->location);
  // Elements of one array of handles: nobody keeps one handle twice in it.
  const Location &x = (*this)[left->location], &y = (*this)[right->location];
  return x.kind == LKind::Index && y.kind == LKind::Index && x.base == y.base &&
         different_slots(left->location, right->location);
}

void Values::start_aging(const Aging& aging) {
  ++agings_;
  ages_ = aging.op != kNoOp ? filter(aging.op) : filter_of_block(aging.block);
}

ValueId Values::aged(ValueId id, const Aging& aging) {
  if (!may_age(id)) return id;
  const auto index = static_cast<std::size_t>(id);
  if (index < aged_values_.size() && aged_values_[index].aging == agings_) return aged_values_[index].id;
  Value value_of = (*this)[id];
  if ((value_of.kind == VKind::Object || value_of.kind == VKind::Version) && value_of.site == aging.op) {
    value_of.older = true;
  } else if (value_of.kind == VKind::Merge && value_of.site == aging.block &&
             std::binary_search(aging.locations.begin(), aging.locations.end(), value_of.location)) {
    value_of.older = true;
  }
  if (value_of.location != kNowhere) value_of.location = aged(value_of.location, aging);
  if (value_of.since != kUnknown) value_of.since = aged(value_of.since, aging);
  if (value_of.key != kWhole) value_of.key = aged(value_of.key, aging);
  const ValueId result = value(value_of);
  if (index >= aged_values_.size()) aged_values_.resize(values_.size());
  aged_values_[index] = {agings_, result};
  return result;
}

LocationId Values::aged(LocationId id, const Aging& aging) {
  if (!may_age(id)) return id;
  const auto index = static_cast<std::size_t>(id);
  if (index < aged_locations_.size() && aged_locations_[index].aging == agings_) return aged_locations_[index].id;
  Location at = (*this)[id];
  if (at.base != kNowhere) at.base = aged(at.base, aging);
  if (at.kind == LKind::Index) at.key = aged(at.key, aging);
  if (at.kind == LKind::Target) at.pointer = aged(at.pointer, aging);
  const ir::PlaceId place = seen(id);
  const LocationId result = location(at);
  if (seen(result) == ir::kNoPlace) known(result).seen = place;
  if (index >= aged_locations_.size()) aged_locations_.resize(locations_.size());
  aged_locations_[index] = {agings_, result};
  return result;
}

KeyId Values::aged(KeyId id, const Aging& aging) {
  if ((mentions(id) & ages_) == 0) return id;
  Key copy = (*this)[id];
  for (ValueId& used : copy.values) used = aged(used, aging);
  return key(std::move(copy));
}

std::optional<ordering::StreamKind> Values::stream_kind(ValueId stream) const {
  const Value& value = (*this)[stream];
  if (value.kind == VKind::Legacy) return ordering::StreamKind::Legacy;
  if (value.kind == VKind::PerThread) return ordering::StreamKind::PerThread;
  if (value.kind == VKind::Object) return op(value.site).stream_kind;
  if (value.makers != kNoMakers) {
    const std::vector<OpIndex>& ops = (*this)[value.makers];
    for (OpIndex maker : ops)
      if (op(maker).stream_kind != op(ops.front()).stream_kind) return std::nullopt;
    return op(ops.front()).stream_kind;
  }
  if (value.kind != VKind::Content && value.kind != VKind::Merge) return std::nullopt;
  const ir::HandleField* field = handle_field(value.location);
  return field != nullptr ? field->stream_kind : std::nullopt;
}

std::optional<bool> Values::timing(ValueId event) const {
  const Value& value = (*this)[event];
  if (value.kind == VKind::Object) return op(value.site).timing;
  if (value.makers != kNoMakers) {
    const std::vector<OpIndex>& ops = (*this)[value.makers];
    for (OpIndex maker : ops)
      if (op(maker).timing != op(ops.front()).timing) return std::nullopt;
    return op(ops.front()).timing;
  }
  if (value.kind != VKind::Content && value.kind != VKind::Merge) return std::nullopt;
  const ir::HandleField* field = handle_field(value.location);
  return field != nullptr ? field->timing : std::nullopt;
}

std::optional<ordering::MemoryKind> Values::memory_kind(ValueId memory) const {
  const Value& value = (*this)[memory];
  switch (value.kind) {
    case VKind::Object:
      return op(value.site).memory;
    case VKind::Content:
      if (value.makers == kNoMakers) return std::nullopt;
      for (OpIndex maker : (*this)[value.makers])
        if (op(maker).memory != op((*this)[value.makers].front()).memory) return std::nullopt;
      return op((*this)[value.makers].front()).memory;
    case VKind::Address:
      if (local(value.location)) return ordering::MemoryKind::Pageable;
      return std::nullopt;
    case VKind::Shifted:
      return memory_kind(value.since);
    default:
      return std::nullopt;
  }
}

OpIndex Values::maker(ValueId id) const {
  const Value& value = (*this)[id];
  if (value.kind == VKind::Object) return value.site;
  if (value.kind == VKind::Shifted) return maker(value.since);
  if (value.makers != kNoMakers && (*this)[value.makers].size() == 1) return (*this)[value.makers].front();
  return kNoOp;
}

}  // namespace streamsan::analyzer
