// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Algorithms of the C++ library that move the elements of a container, or write others there.
//
//   std::swap_ranges, std::iter_swap      the elements change places, one by one
//   std::reverse, std::rotate             of all elements of an array of few: the same
//   anything else that writes to a range  nothing is known of its elements, but that they are as many as before
//
// How many elements a vector has is known when the function is analysed, not yet when it is lowered; so those of a
// vector that is turned round are forgotten, too. Which part of a range is written is not looked at: errs towards
// silence. Numbers and objects that are made of numbers have no elements that could be mistaken for others.
#include "analyzer/lowering/host_algorithms.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_sequences.h"
#include "analyzer/lowering/host_standard.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/type_parts.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::TypeKind;

namespace {

constexpr std::int64_t kMostMoved = 8;

/// `v.end()`, `std::end(v)`.
bool is_end(const clang::Expr* iterator) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(strip(iterator));
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  return callee != nullptr && callee->getIdentifier() != nullptr &&
         (callee->getName() == "end" || callee->getName() == "cend");
}

/// Whoever is called with each element may write it: its parameter is a reference, or it is not known.
bool may_write_each(const Call& call) {
  for (const clang::Expr* given : call.arguments)
    if (const clang::FunctionDecl* body = closure_body(given); body != nullptr && body->getNumParams() > 0) {
      const clang::QualType type = body->getParamDecl(0)->getType();
      return type->isReferenceType() && !type->getPointeeType().isConstQualified();
    }
  return true;
}

}  // namespace

Algorithms::Algorithms(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      sequences_(parts.sequences) {}

std::optional<Algorithms::Spot> Algorithms::spot(const clang::Expr* iterator) {
  if (iterator == nullptr) return std::nullopt;
  // Iterators are passed as copies.
  if (const auto* copy = llvm::dyn_cast<clang::CXXConstructExpr>(strip(iterator));
      copy != nullptr && copy->getConstructor()->isCopyOrMoveConstructor())
    iterator = copy->getArg(0);
  Spot at;
  if (const auto known = places_.iterator(iterator)) {
    if (known->container == ir::kNoPlace) return std::nullopt;
    at.container = known->container;
    at.index = numbers_.index_of(known->index);
  } else {
    const Operand memory = values_.memory(iterator);
    if (memory.kind != Operand::Kind::Value && memory.kind != Operand::Kind::Address) return std::nullopt;
    at.container = memory.place;
    at.index = memory.offset;
    const ir::Place& held = out_[memory.place];
    if (memory.kind == Operand::Kind::Value) {
      if (ir::is(held, ir::Hidden::Data)) at.container = held.base;
    } else if (held.kind == ir::Place::Kind::Index && !out_.type_of(memory.place).isNull() &&
               !out_.type_of(memory.place)->isArrayType()) {
      // &v[i]
      at.container = held.base;
      at.index = at.index == ir::kNoExpr ? held.index : numbers_.sum(held.index, at.index);
    }
  }
  const clang::QualType type = strip(iterator)->getType();
  at.element = type->isPointerType() ? type->getPointeeType() : places_.element_type(value(at.container));
  if (at.element.isNull() || plain(unit_.symbols, at.element)) return std::nullopt;
  return at;
}

std::optional<std::int64_t> Algorithms::index(const Spot& spot) const {
  return spot.index == ir::kNoExpr ? 0 : out_[spot.index].constant;
}

std::optional<std::int64_t> Algorithms::whole(const Call& call, const Spot& first, int last) {
  const clang::Expr* behind = call.argument(last);
  const clang::QualType type = out_.type_of(first.container);
  const auto size = type.isNull() ? std::nullopt : fixed_size(type);
  if (behind == nullptr || !size || *size > static_cast<std::uint64_t>(kMostMoved) || index(first) != 0)
    return std::nullopt;
  const auto many = static_cast<std::int64_t>(*size);
  const auto end = spot(behind);
  if (!end || end->container != first.container) return std::nullopt;
  return is_end(behind) || index(*end) == many ? std::optional(many) : std::nullopt;
}

ir::PlaceId Algorithms::element(const Spot& spot, std::int64_t at) {
  return places_.element(spot.container, numbers_.number(at), spot.element);
}

ir::PlaceId Algorithms::pointed(const Spot& spot) {
  return places_.element(spot.container, spot.index == ir::kNoExpr ? numbers_.number(0) : spot.index, spot.element);
}

void Algorithms::reverse(const Spot& in, std::int64_t first, std::int64_t last, ir::SiteId site) {
  for (; last - first > 1; ++first, --last) assignments_.swap(element(in, first), element(in, last - 1), site);
}

bool Algorithms::turns(const Call& call, bool rotates) {
  const auto first = spot(call.argument(0));
  const auto many = first ? whole(call, *first, rotates ? 2 : 1) : std::nullopt;
  if (!many) return false;
  if (rotates) {
    const auto middle = spot(call.argument(1));
    const auto by = middle && middle->container == first->container ? index(*middle) : std::nullopt;
    if (!by || *by < 0 || *by > *many || is_end(call.argument(1))) return false;
    reverse(*first, 0, *by, call.site);
    reverse(*first, *by, *many, call.site);
  }
  reverse(*first, 0, *many, call.site);
  return true;
}

bool Algorithms::swaps(const Call& call) {
  const bool ranges = call.arguments.size() == 3;
  const auto left = spot(call.argument(0)), right = spot(call.argument(ranges ? 2 : 1));
  if (!left || !right) return false;
  if (!ranges) {
    assignments_.swap(pointed(*left), pointed(*right), call.site);
    return true;
  }
  const auto many = whole(call, *left, 1), begin = index(*right);
  if (!many || !begin) return false;
  for (std::int64_t i = 0; i < *many; ++i) assignments_.swap(element(*left, i), element(*right, *begin + i), call.site);
  return true;
}

bool Algorithms::moves_elements(const Call& call) {
  const llvm::StringRef name = call.known->callee.qualified;
  if (name == "std::iter_swap" && call.arguments.size() == 2) {
    if (swaps(call)) return true;
    for (const clang::Expr* given : call.arguments) forget(given, call.site);
    return true;
  }
  if (name == "std::swap_ranges" && call.arguments.size() == 3) return swaps(call);
  if (name == "std::reverse" && call.arguments.size() == 2) return turns(call, false);
  return name == "std::rotate" && call.arguments.size() == 3 && turns(call, true);
}

void Algorithms::forget(const clang::Expr* range, ir::SiteId site) {
  const auto at = spot(range);
  if (!at) return;
  const ir::PlaceId each = out_.new_local(ir::kEach, TypeKind::Integer);
  out_.emit_fresh(each, site);
  const bool pointer = out_.kind(at->container) == TypeKind::Pointer;
  const ir::ExprId index = numbers_.index_of(each);
  const ir::PlaceId written = pointer ? places_.subscript(value(at->container), index, at->element)
                                      : places_.element(at->container, index, at->element);
  out_.emit_fresh(written, site);
}

void Algorithms::forget_written(const Call& call) {
  for (const Role& role : call.model->roles) {
    if (role.mode == ir::Mode::Read || role.argument < 0) continue;
    if (role.mode == ir::Mode::Unknown && !may_write_each(call)) continue;
    forget(call.argument(role.argument), call.site);
  }
}

void Algorithms::hand_out(const Call& call) {
  const bool inserts = llvm::StringSwitch<bool>(call.known->callee.qualified)
                           .Cases({"std::back_inserter", "std::front_inserter", "std::inserter"}, true)
                           .Default(false);
  const ir::PlaceId container = inserts ? places_.place(call.argument(0)) : ir::kNoPlace;
  if (container != ir::kNoPlace) sequences_.forget(container, call.site);
}

}  // namespace streamsan::analyzer::host
