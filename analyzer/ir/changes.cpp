// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a store, or a call of code that is not known, may change.
//
// Two paths may be two names of one place. That is known without following values: a variable that dies with the call
// has no other name; what is reached through a pointer, a reference, the object of a method or a global variable may
// have one. A field is written by a store to the same field of an object that may be the same, or through a pointer; an
// element by a store to an element of the same array at an index that may be the same. A pointer to one of the
// function's own variables is not thought of. Else this errs towards change.
#include "analyzer/ir/changes.h"

#include <algorithm>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

/// Other code may reach it, perhaps by another name.
bool is_open(const Function& function, PlaceId place) {
  const Root variable = root(function, place);
  return !is_own(function[variable.place]) || variable.through_pointer;
}

/// The name says that it is somewhere behind a pointer or a reference, but not in which field of what.
bool is_anywhere(const Function& function, PlaceId place) {
  const Place& last = function[place];
  return last.kind == Place::Kind::Deref || (last.kind == Place::Kind::Parameter && last.reference) ||
         (last.kind == Place::Kind::Index && function[last.base].type == TypeKind::Pointer);
}

bool is_scalar(TypeKind type) { return type != TypeKind::Other && type != TypeKind::Object; }

bool has_part(const Function& function, PlaceId place, PlaceId part) {
  for (; place != kNoPlace; place = function[place].base)
    if (place == part) return true;
  return false;
}

bool is_same_field(const Function& function, PlaceId one, PlaceId other) {
  const auto field = [&](PlaceId place) -> const Place& {
    while (function[place].kind == Place::Kind::Index) place = function[place].base;
    return function[place];
  };
  const Place &a = field(one), &b = field(other);
  return a.kind == Place::Kind::Field && b.kind == Place::Kind::Field && a.name == b.name && a.owner == b.owner;
}

/// `place` is reached through the pointer that `pointer` holds.
bool is_behind(const Function& function, PlaceId place, PlaceId pointer) {
  return place != pointer && has_part(function, place, pointer) && function[pointer].type == TypeKind::Pointer;
}

}  // namespace

bool may_store(const Function& function, PlaceId target, PlaceId place) {
  if (has_part(function, place, target)) return true;
  const Place &written = function[target], &read = function[place];
  if (is_scalar(written.type) && is_scalar(read.type) && written.type != read.type) return false;
  if (written.kind == Place::Kind::Index && read.kind == Place::Kind::Index && written.base == read.base) {
    const auto constant = [&](ExprId index) {
      return index == kNoExpr ? std::optional<std::int64_t>() : function[index].constant;
    };
    const auto one = constant(written.index), other = constant(read.index);
    return !one || !other || one == other;
  }
  const bool both_open = is_open(function, target) && is_open(function, place);
  if (both_open && (is_anywhere(function, target) || is_anywhere(function, place))) return true;
  if (!is_same_field(function, target, place)) return false;
  return both_open || root(function, target).place == root(function, place).place;
}

bool may_change(const Function& function, const Op& op, PlaceId place) {
  if (op.target != kNoPlace && may_store(function, op.target, place)) return true;
  const auto writes = [&](const Access& access) {
    if (access.mode == Mode::Read || access.memory.place == kNoPlace) return false;
    return access.memory.kind == Operand::Kind::Address ? has_part(function, place, access.memory.place)
                                                        : is_behind(function, place, access.memory.place);
  };
  switch (op.kind) {
    case OpKind::MaySync:
    case OpKind::Call:
      return is_open(function, place);
    case OpKind::Escape:
      return is_open(function, place) || (op.source.kind == Operand::Kind::Address && op.source.place != kNoPlace &&
                                          root(function, op.source.place).place == root(function, place).place);
    case OpKind::HostAccess:
      return std::ranges::any_of(op.accesses, writes);
    default:
      return false;
  }
}

}  // namespace streamsan::analyzer::ir
