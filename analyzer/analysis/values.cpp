// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interning and aging of names. values.h explains it.
//
// A name is precise if it contains no older name, no unknown value and no unnamed index. Then it means one concrete
// value at each moment.
#include "analyzer/analysis/values.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/range.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using LKind = Location::Kind;
using VKind = Value::Kind;

std::size_t mix(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15U ^ seed >> 29U; }

/// `f(i)`, `i++`: an expression that may have another value each time it is evaluated, with the same variables.
bool has_effects_or_calls(const std::string& text) {
  const auto word_character = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (text.find("++") != std::string::npos || text.find("--") != std::string::npos) return true;
  for (std::size_t at = text.find('('); at != std::string::npos; at = text.find('(', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string word = text.substr(begin, at - begin);
    if (!word.empty() && word != "sizeof") return true;
  }
  return false;
}

}  // namespace

Values::Values(const ir::Function& function, const ir::Program& program)
    : function_(function), in_loop_(ir::blocks_in_loops(function)), field_memory_(program.memory) {
  for (const ir::Block& block : function.blocks) {
    first_op_.push_back(static_cast<OpIndex>(ops_.size()));
    for (const ir::Op& op : block.ops) {
      ops_.push_back(&op);
      launches_programmatically_ = launches_programmatically_ || op.programmatic != ir::Certainty::No;
    }
  }
  minted_.resize(ops_.size());
  homes_.resize(ops_.size());
  parts_.resize(function.places.size());
  writes_.resize(function.places.size());
  moves_.resize(function.places.size());
  std::set<std::pair<ir::PlaceId, std::uint32_t>> copies;
  for (std::size_t block = 0; block < function.blocks.size(); ++block)
    for (const ir::Op& op : function.blocks[block].ops) {
      if (op.target == ir::kNoPlace) continue;
      if (in_loop_[block]) moves_[static_cast<std::size_t>(op.target)] = true;
      if (op.origin != ir::Op::kNoOrigin && !copies.emplace(op.target, op.origin).second) continue;
      std::uint8_t& writes = writes_[static_cast<std::size_t>(op.target)];
      writes = writes == 0 ? 1 : 2;
    }
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
    if (place.kind == ir::Place::Kind::Index && place.type != ir::TypeKind::Integer) note_element(id);
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

ValueId Values::default_stream_of(ValueId stream, const std::string& device) {
  return value({.kind = (*this)[stream].kind, .key = key({.text = device})});
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
    if (part || location.kind == LKind::Stamp || location.kind == LKind::Alias) {
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
    locations_.push_back(made);
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
    case VKind::Computed:
      return precise(value.key);
    case VKind::Null:
    case VKind::Legacy:
    case VKind::PerThread:
    case VKind::Object:
    case VKind::Version:
    case VKind::Constant:
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
    case LKind::Alias:
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

std::optional<ValueId> Values::constant(KeyId number) {
  if (!(*this)[number].constant) return std::nullopt;
  return value({.kind = VKind::Constant, .key = number});
}

ValueId Values::computed(KeyId key) {
  const auto deep = [this](ValueId used) {
    const Value& value = (*this)[used];
    return value.kind == VKind::Computed && std::ranges::any_of((*this)[value.key].values, [this](ValueId inner) {
             return (*this)[inner].kind == VKind::Computed;
           });
  };
  const Key& of = (*this)[key];
  if (key == kWhole || !of.precise || of.values.empty() || std::ranges::any_of(of.values, deep)) return kUnknown;
  return value({.kind = VKind::Computed, .key = key});
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

LocationId Values::alias_stamp(LocationId field) {
  const FieldId name = (*this)[field].field;
  const LocationId id = location({.kind = LKind::Alias, .field = name, .base = top(field)});
  std::vector<LocationId>& all = alias_stamps_[name];
  if (std::ranges::find(all, id) == all.end()) all.push_back(id);
  return id;
}

std::vector<LocationId> Values::alias_stamps(LocationId field) const {
  std::vector<LocationId> result;
  const auto known = alias_stamps_.find((*this)[field].field);
  if (known == alias_stamps_.end()) return result;
  const auto is_global = [this](LocationId top) {
    const Location& at = (*this)[top];
    return at.kind == LKind::Root && function_[at.root].kind == ir::Place::Kind::Global;
  };
  for (const LocationId stamp : known->second) {
    const LocationId written = (*this)[stamp].base;
    if (written != top(field) && !(is_global(written) && is_global(top(field)))) result.push_back(stamp);
  }
  return result;
}

bool Values::may_have_alias(LocationId id) const {
  const Location& at = (*this)[top(id)];
  if (at.kind == LKind::Target) {
    // An object that was made here by new has one name.
    const Value::Kind pointer = (*this)[at.pointer].kind;
    return pointer != VKind::Object;
  }
  if (at.kind != LKind::Root) return false;
  const ir::Place& place = function_[at.root];
  using Kind = ir::Place::Kind;
  return place.kind == Kind::This || place.kind == Kind::Global || (place.kind == Kind::Parameter && place.reference);
}

KeyId Values::key(Key key) {
  if (key.constant) {
    std::int64_t bytes = 0;
    if (key.unit > 1 && !__builtin_mul_overflow(*key.constant, std::int64_t{key.unit}, &bytes)) {
      key.constant = bytes;
      key.unit = 1;
    }
    key = {.text = std::to_string(*key.constant), .values = {}, .constant = key.constant, .unit = key.unit};
  }
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

std::optional<std::int64_t> Values::number_of(const std::string& text, const std::vector<ValueId>& values) const {
  const bool constants = !values.empty() && std::ranges::all_of(values, [this](ValueId value) {
    return (*this)[value].kind == VKind::Constant;
  });
  if (!constants) return std::nullopt;
  return ir::evaluate(text,
                      [&](std::string_view word) -> std::optional<ir::Range> {
                        for (std::size_t i = 0; i < values.size(); ++i)
                          if (word == "$" + std::to_string(i))
                            return ir::Range::one(*(*this)[(*this)[values[i]].key].constant);
                        return std::nullopt;
                      })
      .number();
}

KeyId Values::key(ir::ExprId id, std::vector<ValueId> values) {
  NamedExpr& named = exprs_[static_cast<std::size_t>(id)];
  const ir::Expr& expr = function_[id];
  if (!named.made) {
    named.made = true;
    named.text = expr.text;
    if (!expr.constant) {
      named.precise = !expr.uses.empty() && !has_effects_or_calls(expr.text);
      named.text = ir::numbered(function_, expr);
    }
  }
  if (const auto made = named.keys.find(values); made != named.keys.end()) return made->second;
  if (const auto number = number_of(named.text, values); !expr.constant && number)
    return named.keys[std::move(values)] =
               key({.text = {}, .values = {}, .constant = number, .precise = true, .unit = expr.unit});
  Key name{
      .text = named.text, .values = values, .constant = expr.constant, .precise = named.precise, .unit = expr.unit};
  return named.keys[std::move(values)] = key(std::move(name));
}

KeyId Values::sum(KeyId a, KeyId b) {
  if (a == kWhole) return b;
  if (b == kWhole) return a;
  Key left = (*this)[a], right = (*this)[b];
  if (left.unit != right.unit) {
    if (left.unit == 0 || right.unit == 0) return kSomewhere;
    for (Key* side : {&left, &right}) {
      if (side->unit != 1) side->text = "(" + side->text + ") * " + std::to_string(side->unit);
      side->unit = 1;
    }
  }
  std::int64_t total = 0;
  if (left.constant && right.constant) {
    if (__builtin_add_overflow(*left.constant, *right.constant, &total)) return kSomewhere;
    return total == 0 ? kWhole : key({.text = {}, .values = {}, .constant = total, .unit = left.unit});
  }
  Key result{.text = left.text + " + ", .values = left.values, .constant = {}, .unit = left.unit};
  for (std::size_t at = 0; at < right.text.size(); ++at) {
    result.text += right.text[at];
    if (right.text[at] != '$') continue;
    // Its values come after those of the left side.
    std::size_t number = 0;
    for (; at + 1 < right.text.size() && right.text[at + 1] >= '0' && right.text[at + 1] <= '9'; ++at)
      number = number * 10 + static_cast<std::size_t>(right.text[at + 1] - '0');
    result.text += std::to_string(number + left.values.size());
  }
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

LocationId Values::moved(LocationId part, LocationId from, LocationId to) {
  if (part == from) return to;
  Location made = (*this)[part];
  if (made.kind != Location::Kind::Field && made.kind != Location::Kind::Index) return kNowhere;
  made.base = moved(made.base, from, to);
  if (made.base == kNowhere) return kNowhere;
  const ir::PlaceId seen = this->seen(part);
  const LocationId result = location(made);
  if (known(result).seen == ir::kNoPlace) known(result).seen = seen;
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

}  // namespace streamsan::analyzer
