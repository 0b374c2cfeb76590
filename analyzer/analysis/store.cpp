// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads, writes and joins the places. store.h explains it.
#include "analyzer/analysis/store.h"

#include <algorithm>
#include <optional>

#include "analyzer/analysis/last_uses.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;
using LKind = Location::Kind;

/// A handle or a pointer.
bool is_tracked(const Values& values, LocationId location) {
  const ir::PlaceId seen = values.seen(location);
  const TypeKind type = seen == ir::kNoPlace ? TypeKind::Other : values.function()[seen].type;
  return type == TypeKind::Stream || type == TypeKind::Event || type == TypeKind::Pointer;
}

/// The value was read from a location that has no name any more: it becomes a value of its own. Not a handle whose
/// maker is known.
bool is_nameless(const Values& values, ValueId id) {
  const Value& value = values[id];
  return value.kind == Value::Kind::Content && !values.precise(id) && value.makers == kNoMakers &&
         !values.stream_kind(id) && !values.timing(id) && values.handle(id) == nullptr;
}

/// A variable of the function that the op does not increment: its value follows from the variables in the expression.
bool is_named_number(const ir::Function& function, const ir::Op& op) {
  if (op.source.kind != Operand::Kind::Number) return true;
  const std::vector<ir::PlaceId>& uses = function[op.source.offset].uses;
  return ir::is_own(function[op.target]) && std::ranges::find(uses, op.target) == uses.end();
}

}  // namespace

LocationId Store::locate(Values& values, ir::PlaceId id) const {
  if (id == ir::kNoPlace) return kNowhere;
  const Place& place = values.function()[id];
  switch (place.kind) {
    case Place::Kind::Field:
      return values.field(locate(values, place.base), id);
    case Place::Kind::Index: {
      const KeyId index = key(values, place.index);
      if (values.function()[place.base].type != TypeKind::Pointer) {
        return values.element(locate(values, place.base), index, id);
      }
      return values.element(values.target(load(values, place.base), id), index, id);
    }
    case Place::Kind::Deref:
      return values.target(load(values, place.base), id);
    case Place::Kind::Local:
    case Place::Kind::Parameter:
    case Place::Kind::This:
    case Place::Kind::Global:
    case Place::Kind::Temporary:
      return values.root(id, id);
  }
  return kNowhere;
}

ValueId Store::since(Values& values, LocationId location) const {
  for (LocationId at = location;;) {
    const auto stamp = [&](LocationId base, KeyId flavour) { return held_.find(values.stamp(base, flavour)); };
    if (const auto it = stamp(at, kWhole); it != held_.end()) return it->second;
    if (const LocationId star = values.starred(at); star != at) {
      const auto it = stamp(star, values.constant_path(at) ? kWhole : kSomewhere);
      if (it != held_.end()) return it->second;
    }
    // The same field of another name that may mean this object.
    if (values[at].kind == LKind::Field && values.may_have_alias(at))
      for (const LocationId written : values.alias_stamps(at))
        if (const auto it = held_.find(written); it != held_.end()) return it->second;
    const Location& here = values[at];
    if (here.kind != LKind::Field && here.kind != LKind::Index) return kUnknown;
    at = here.base;
  }
}

ValueId Store::load(Values& values, LocationId location) const {
  if (location == kNowhere) return kUnknown;
  if (const auto it = held_.find(location); it != held_.end()) return it->second;
  const auto made = makers_.find(values.starred(location));
  return values.content(location, since(values, location), made == makers_.end() ? kNoMakers : made->second);
}

ValueId Store::evaluate(Values& values, const Operand& operand) const {
  const auto moved = [&](ValueId pointer) {
    return operand.offset == ir::kNoExpr ? pointer : values.shifted(pointer, key(values, operand.offset));
  };
  switch (operand.kind) {
    case Operand::Kind::Value:
      return moved(load(values, operand.place));
    case Operand::Kind::Address:
      return moved(values.address(locate(values, operand.place)));
    case Operand::Kind::Null:
      return kNull;
    case Operand::Kind::DefaultStream:
      return values.function().per_thread_default_stream ? kPerThread : kLegacy;
    case Operand::Kind::LegacyStream:
      return kLegacy;
    case Operand::Kind::PerThreadStream:
      return kPerThread;
    case Operand::Kind::Number: {
      const KeyId worth = key(values, operand.offset);
      const std::optional<ValueId> number = values.constant(worth);
      return number ? *number : values.computed(worth);
    }
    case Operand::Kind::None:
    case Operand::Kind::Unknown:
      return kUnknown;
  }
  return kUnknown;
}

ValueId Store::stream(Values& values, const Operand& operand) const {
  const ValueId value = evaluate(values, operand);
  if (value != kNull) return value;
  return values.function().per_thread_default_stream ? kPerThread : kLegacy;
}

KeyId Store::key(Values& values, ir::ExprId id) const {
  if (id == ir::kNoExpr) return kWhole;
  const ir::Expr& expr = values.function()[id];
  std::vector<ValueId> held;
  if (!expr.constant)
    for (ir::PlaceId use : expr.uses) held.push_back(load(values, use));
  return values.key(id, std::move(held));
}

KeyId Store::key(Values& values, const std::vector<Operand>& scalars) const {
  if (scalars.empty()) return kWhole;
  Key all;
  for (const Operand& scalar : scalars) {
    const Key one = values[key(values, scalar.offset)];
    all.text += one.text + ", ";
    all.values.insert(all.values.end(), one.values.begin(), one.values.end());
    all.precise = all.precise && one.precise;
  }
  return values.key(std::move(all));
}

std::vector<Store::Reached> Store::reach(Values& values, const Operand& operand) const {
  std::vector<Reached> result;
  if (operand.kind != Operand::Kind::Value && operand.kind != Operand::Kind::Address) return result;
  const TypeKind type = values.function()[operand.place].type;
  LocationId object = locate(values, operand.place);
  if (operand.kind == Operand::Kind::Address) {
    result.push_back({values.address(object), TypeKind::Pointer});
  } else if (type == TypeKind::Pointer) {
    result.push_back({evaluate(values, operand), type});
    object = values.target(result.back().value, operand.place);
  }
  if (object == kNowhere) return result;
  const auto add = [&](LocationId location, ValueId value) {
    const ir::PlaceId seen = values.seen(location);
    if (seen != ir::kNoPlace) result.push_back({value, values.function()[seen].type});
  };
  add(object, load(values, object));
  for (const auto& [location, value] : held_)
    if (location != object && values.inside(location, object)) add(location, value);
  // Parts that were never assigned here keep their values.
  for (ir::PlaceId part : values.parts(operand.place)) add(locate(values, part), load(values, part));
  std::erase_if(result, [](const Reached& reached) { return reached.value == kUnknown || reached.value == kNull; });
  return result;
}

void Store::erase_overlapping(Values& values, LocationId location) {
  const LocationId top = values.top(location);
  held_.erase_if([&](const auto& entry) {
    LocationId at = entry.first;
    if (values.top(at) != top) return false;
    const bool stamp = values[at].kind == LKind::Stamp;
    if (stamp) at = values[at].base;
    for (;;) {
      if (at == location || values.may_overlap(at, location)) return true;
      const Location& here = values[at];
      if (here.kind != LKind::Field && here.kind != LKind::Index) return false;
      at = here.base;
    }
  });
}

void Store::learn(Values& values, ir::PlaceId place, ValueId value) {
  if (const LocationId location = locate(values, place); location != kNowhere) held_[location] = value;
}

void Store::put(Values& values, LocationId location, ValueId value, OpIndex op) {
  if (location == kNowhere) return;
  const LocationId star = values.starred(location);
  const MakersId before = makers_.contains(star) ? makers_[star] : values.makers({kNoOp});
  erase_overlapping(values, location);
  if (star != location) {
    held_[values.stamp(star, kSomewhere)] = values.version(op);
    if (!values.constant_path(location)) held_[values.stamp(star, kWhole)] = values.version(op);
    if (values.local(location) && value != kNull) {
      const Value& stored = values[value];
      const MakersId made = stored.kind == Value::Kind::Object ? values.makers({stored.site}) : stored.makers;
      // makers({kNoOp}) stands for "nothing stored yet"; it is never kept.
      makers_[star] = before == values.makers({kNoOp}) ? made : values.join(before, made);
    }
  }
  held_[location] = value;
  if (values[location].kind == LKind::Field && values.may_have_alias(location) && is_tracked(values, location))
    held_[values.alias_stamp(location)] = values.version(op);
}

void Store::forget(Values& values, LocationId location, OpIndex op) {
  if (location == kNowhere) return;
  erase_overlapping(values, location);
  held_[values.stamp(location, kWhole)] = values.version(op);
  const LocationId star = values.starred(location);
  if (star != location) {
    for (KeyId flavour : {kSomewhere, kWhole}) held_[values.stamp(star, flavour)] = values.version(op);
  }
  if (!values.local(location)) return;
  // From now on its content comes from out of sight.
  makers_[star] = kNoMakers;
  for (auto& [place, made] : makers_)
    if (values.inside(place, star)) made = kNoMakers;
  for (ir::PlaceId id : values.elements_beside(star)) {
    const LocationId inner = values.starred(locate(values, id));
    if (values.inside(inner, star)) makers_[inner] = kNoMakers;
  }
}

void Store::copy(Values& values, ir::PlaceId target, LocationId source, OpIndex op) {
  for (ir::PlaceId part : values.parts(target)) {
    const Place& place = values.function()[part];
    LocationId from = kNowhere;
    if (place.kind == Place::Kind::Field) from = values.field(source, part);
    if (place.kind == Place::Kind::Index && values.function()[place.index].constant)
      from = values.element(source, key(values, place.index), part);
    if (from == kNowhere) continue;
    if (place.type == TypeKind::Object) {
      copy(values, part, from, op);
    } else {
      put(values, locate(values, part), load(values, from), op);
    }
  }
}

void Store::copy_elements(Values& values, LocationId target, LocationId source, OpIndex op) {
  std::vector<std::pair<LocationId, ValueId>> found;
  for (const auto& [location, value] : held_)
    if (location != source && values[location].kind != LKind::Stamp && values[location].kind != LKind::Alias &&
        values.inside(location, source))
      found.emplace_back(location, value);
  for (const auto& [location, value] : found) {
    const LocationId to = values.moved(location, source, target);
    if (to != kNowhere && !held_.contains(to) && values.precise(to)) put(values, to, value, op);
  }
}

void Store::apply(Values& values, OpIndex index) {
  const ir::Op& op = values.op(index);
  switch (op.kind) {
    case OpKind::Assign:
      if (values.function()[op.target].type != TypeKind::Object) {
        const bool stream = values.function()[op.target].type == TypeKind::Stream;
        const ValueId value = stream && op.source.kind != Operand::Kind::Null ? this->stream(values, op.source)
                                                                              : evaluate(values, op.source);
        const bool computed = values[value].kind == Value::Kind::Computed;
        const bool number = values[value].kind == Value::Kind::Constant || computed;
        const bool moves_on =
            (number && !values.same_in_all_rounds(op.target)) || (computed && !is_named_number(values.function(), op));
        const bool nameless = value == kUnknown || moves_on || is_nameless(values, value);
        put(values, locate(values, op.target), nameless ? values.version(index) : value, index);
      } else {
        const LocationId source = op.source.kind == Operand::Kind::Value || op.source.kind == Operand::Kind::Address
                                      ? locate(values, op.source.place)
                                      : kNowhere;
        forget(values, locate(values, op.target), index);
        if (source != kNowhere) copy(values, op.target, source, index);
        if (source != kNowhere) copy_elements(values, locate(values, op.target), source, index);
      }
      break;
    case OpKind::Fresh:
      if (values.function()[op.target].type == TypeKind::Object) {
        forget(values, locate(values, op.target), index);
      } else {
        put(values, locate(values, op.target), values.version(index), index);
      }
      break;
    case OpKind::CreateStream:
    case OpKind::CreateEvent:
    case OpKind::Allocate:
      if (op.target != ir::kNoPlace) {
        const LocationId target = locate(values, op.target);
        values.put_first(index, target);
        put(values, target, values.object(index), index);
      }
      break;
    case OpKind::Escape:
      if (op.source.kind == Operand::Kind::Address) {
        forget(values, locate(values, op.source.place), index);
      } else if (op.source.kind == Operand::Kind::Value) {
        const bool object = values.function()[op.source.place].type == TypeKind::Object;
        if (!object) forget(values, values.target(evaluate(values, op.source), op.source.place), index);
      }
      break;
    default:
      if (op.target != ir::kNoPlace) put(values, locate(values, op.target), values.version(index), index);
      break;
  }
}

void Store::age(Values& values, const Aging& aging) {
  const auto is_moved = [&](const Held::Entry& entry) {
    return values.may_age(entry.first) && values.aged(entry.first, aging) != entry.first;
  };
  // Few locations get another name, and with it another position in the order.
  std::vector<Held::Entry> moved;
  bool any = false;
  for (auto& entry : held_) {
    if (values.may_age(entry.second)) entry.second = values.aged(entry.second, aging);
    if (!is_moved(entry)) continue;
    any = true;
    const LocationId at = values.aged(entry.first, aging);
    // An element at an older index has no name any more.
    if (values[at].kind == LKind::Stamp || values.precise(at)) moved.push_back({at, entry.second});
  }
  if (!any) return;
  held_.erase_if(is_moved);
  held_.add(std::move(moved));
}

Store Store::join(Values& values, std::uint32_t block, const Ends& ends, const LastUses& uses, const Store& before,
                  bool sticky) {
  const auto is_dead = [&](LocationId location) {
    const Location& top = values[values.top(location)];
    return top.kind == LKind::Root && uses.is_dead(block, top.root);
  };
  if (ends.size() == 1) {
    Store result = ends[0];
    result.held_.erase_if([&](const Held::Entry& entry) { return is_dead(entry.first); });
    return result;
  }
  const auto is_merge = [&](ValueId id, LocationId location) {
    const Value& value = values[id];
    return value.kind == Value::Kind::Merge && value.site == block && value.location == location && !value.older;
  };
  // The position in each state: all are walked through together, in the order of locations.
  std::vector<Held::const_iterator> at;
  for (std::size_t end = 0; end < ends.size(); ++end) at.push_back(ends[end].held_.begin());
  Held::const_iterator earlier = before.held_.begin();
  const auto holds = [&](std::size_t end, LocationId location) {
    return at[end] != ends[end].held_.end() && at[end]->first == location;
  };
  const auto note = [&](LocationId location) {
    return values[location].kind == LKind::Stamp || values[location].kind == LKind::Alias;
  };
  const auto merge = [&](LocationId location) {
    const ir::PlaceId seen = values.seen(location);
    const bool pointer = seen != ir::kNoPlace && values.function()[seen].type == TypeKind::Pointer;
    while (earlier != before.held_.end() && earlier->first < location) ++earlier;
    std::optional<ValueId> merged;
    if (earlier != before.held_.end() && earlier->first == location && is_merge(earlier->second, location))
      merged = earlier->second;
    std::optional<ValueId> joined;
    if (sticky) joined = merged;
    const auto name = [&] { return merged ? *merged : values.merge(block, location); };
    for (std::size_t end = 0; end < ends.size(); ++end) {
      std::optional<ValueId> value;
      if (holds(end, location)) value = at[end]->second;
      if (!value && !values.local(location)) value = note(location) ? kUnknown : ends[end].load(values, location);
      // An element of a local array, which was stored under a name that may mean it: `slots[i]` in a loop.
      if (!value && !note(location) && ends[end].since(values, location) != kUnknown)
        value = ends[end].load(values, location);
      if (!value || is_merge(*value, location)) continue;
      // Nothing is reached through a null pointer: if the other path has memory, uses of the pointer mean that memory.
      if (pointer && joined && !is_merge(*joined, location) && (*value == kNull || *joined == kNull)) {
        if (*joined == kNull) joined = value;
        continue;
      }
      joined = !joined || *joined == *value ? *value : name();
    }
    return joined ? *joined : name();
  };
  Store result;
  std::vector<Held::Entry> held;
  held.reserve(ends[0].size());
  for (;;) {
    Held::Entry next{};
    std::size_t holders = 0;
    bool alike = true;
    for (std::size_t end = 0; end < ends.size(); ++end) {
      if (at[end] == ends[end].held_.end()) continue;
      if (holders == 0 || at[end]->first < next.first) {
        next = *at[end];
        holders = 1;
        alike = true;
      } else if (at[end]->first == next.first) {
        ++holders;
        alike = alike && at[end]->second == next.second;
      }
    }
    if (holders == 0) break;
    if (!is_dead(next.first)) {
      if (sticky || !alike || holders < ends.size()) next.second = merge(next.first);
      held.push_back(next);
    }
    for (std::size_t end = 0; end < ends.size(); ++end)
      if (holds(end, next.first)) ++at[end];
  }
  for (std::size_t end = 0; end < ends.size(); ++end)
    for (const auto& [star, made] : ends[end].makers_) {
      const auto [it, added] = result.makers_.try_emplace(star, made);
      it->second = values.join(it->second, made);
    }
  result.held_ = Held::from(std::move(held));
  return result;
}

Store::Merges Store::merges(const Values& values, std::uint32_t block) const {
  Merges result;
  for (const auto& [location, value] : held_) {
    const Value& merged = values[value];
    if (merged.kind == Value::Kind::Merge && merged.site == block && !merged.older && merged.location == location)
      result.emplace_back(location, value);
  }
  return result;
}

std::vector<LocationId> Store::changed(const Merges& merges) const {
  std::vector<LocationId> result;
  Held::const_iterator at = held_.begin();
  for (const auto& [location, value] : merges) {
    at = std::ranges::lower_bound(at, held_.end(), location, {}, &Held::Entry::first);
    if (at == held_.end() || at->first != location || at->second != value) result.push_back(location);
  }
  return result;
}

}  // namespace streamsan::analyzer
