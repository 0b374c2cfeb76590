// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::map and its kin: arrays whose index is the key.
//
// `m[key]` is the field `second` of the entry `m{key}`, which is the element of m with the index `key`: integers,
// handles and pointers are compared by what they hold, keys of other kinds as map_keys.cpp says. What find() returns is
// an iterator that stands at the key. Emplacing and inserting are taken to find no entry under the key. No entry, and
// an entry with a null pointer, are the same here: `it == m.end()` and `m.count(key) == 0` ask whether it is null.
#include "analyzer/lowering/host_maps.h"

#include "analyzer/lowering/container_calls.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/map_keys.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::Operand;

namespace {

enum class MapCall : std::uint8_t { Other, Index, Find, Put, Erase, Clear };

MapCall map_call(llvm::StringRef name) {
  return llvm::StringSwitch<MapCall>(name)
      .Cases({"operator[]", "at"}, MapCall::Index)
      .Case("find", MapCall::Find)
      .Cases({"emplace", "try_emplace", "insert_or_assign", "insert"}, MapCall::Put)
      .Case("erase", MapCall::Erase)
      .Case("clear", MapCall::Clear)
      .Default(MapCall::Other);
}

/// `m.count(key)`, `m.contains(key)`; nullptr: it is another expression.
const clang::CXXMemberCallExpr* call_of_count(const clang::Expr* expression) {
  const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(strip(expression));
  const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
  const bool counts = method != nullptr && method->getDeclName().isIdentifier() && call->getNumArgs() == 1 &&
                      (method->getName() == "count" || method->getName() == "contains");
  return counts ? call : nullptr;
}

}  // namespace

Maps::Maps(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      keys_(parts.map_keys) {}

clang::QualType Maps::entry_type(clang::QualType map) const {
  if (!unit_.symbols.is_map(map)) return {};
  for (const clang::NamedDecl* named : Symbols::record(map)->lookup(&unit_.context.Idents.get("value_type")))
    if (const auto* type = llvm::dyn_cast<clang::TypedefNameDecl>(named)) return type->getUnderlyingType();
  return {};
}

bool Maps::apply(const Call& call) {
  if (call.object_expression == nullptr || call.object == ir::kNoPlace) return false;
  const MapCall does = map_call(call.known->callee.name);
  if (does == MapCall::Other || entry_type(out_.type_of(call.object)).isNull()) return false;
  const clang::Expr* key = call.argument(0);
  switch (does) {
    case MapCall::Index: {
      const ir::PlaceId at = slot(call, *key);
      values_.set_result(*call.expression, value(at), at);
      return true;
    }
    case MapCall::Find: {
      Operand here = address(call.object);
      here.offset = keys_.key(*key);
      values_.set_result(*call.expression, here);
      return true;
    }
    case MapCall::Put:
      // m.insert({key, value}), m.insert(std::make_pair(key, value))
      if (const auto pair = parts_of(key); call.arguments.size() == 1 && pair.size() == 2) {
        assignments_.initialize(slot(call, *pair[0]), pair[1]);
        return true;
      }
      if (call.arguments.size() != 2 || call.known->callee.name == "insert") return false;
      assignments_.initialize(slot(call, *key), call.arguments[1]);
      return true;
    case MapCall::Erase:
      erase(call);
      return true;
    case MapCall::Clear:
      out_.emit_fresh(call.object, call.site);
      return true;
    case MapCall::Other:
      break;
  }
  return false;
}

ir::PlaceId Maps::slot(const Call& call, const clang::Expr& key) { return slot_at(call.object, keys_.key(key)); }

ir::PlaceId Maps::slot_at(ir::PlaceId map, ir::ExprId key) {
  const clang::QualType type = entry_type(out_.type_of(map));
  return type.isNull() ? ir::kNoPlace : second_of(places_.element(map, key, type), type);
}

ir::PlaceId Maps::second_of(ir::PlaceId entry, clang::QualType type) {
  if (const clang::CXXRecordDecl* record = Symbols::record(type))
    for (const clang::FieldDecl* field : record->fields())
      if (field->getName() == "second") return places_.member(entry, *field);
  return ir::kNoPlace;
}

std::optional<ir::Expr> Maps::asks_for_entry(const clang::Expr& condition) {
  const clang::Expr* at = strip(&condition);
  bool negated = false;
  while (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
    if (unary->getOpcode() != clang::UO_LNot) return std::nullopt;
    negated = !negated;
    at = strip(unary->getSubExpr());
  }
  if (const auto* rewritten = llvm::dyn_cast<clang::CXXRewrittenBinaryOperator>(at)) {
    negated = negated != (rewritten->getOperator() == clang::BO_NE);
    at = strip(rewritten->getSemanticForm());
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) at = strip(unary->getSubExpr());
  }
  const auto asks = [&](ir::PlaceId map, ir::ExprId key, bool for_null) -> std::optional<ir::Expr> {
    const clang::QualType type = map == ir::kNoPlace ? clang::QualType() : entry_type(out_.type_of(map));
    if (type.isNull() || key == ir::kNoExpr) return std::nullopt;
    const ir::PlaceId held = second_of(places_.element(map, key, type), type);
    if (held == ir::kNoPlace || out_.kind(held) != ir::TypeKind::Pointer) return std::nullopt;
    return ir::Expr{
        .text = out_.spell(held) + (for_null ? " == nullptr" : " != nullptr"), .uses = {held}, .constant = {}};
  };
  // m.count(key), m.count(key) == 0, m.count(key) > 0
  const auto* number = llvm::dyn_cast<clang::BinaryOperator>(at);
  const clang::Expr* count = number == nullptr ? at : number->getLHS();
  if (const clang::CXXMemberCallExpr* call = call_of_count(count)) {
    bool for_null = negated;
    if (number != nullptr) {
      const auto opcode = number->getOpcode();
      const bool asks_for_none = opcode == clang::BO_EQ;
      if (constant(number->getRHS(), unit_.context) != 0 ||
          (!asks_for_none && opcode != clang::BO_NE && opcode != clang::BO_GT))
        return std::nullopt;
      for_null = asks_for_none != negated;
    }
    const clang::Expr* map = call->getImplicitObjectArgument();
    if (map->getType()->isPointerType()) return std::nullopt;
    return asks(places_.place(map), keys_.key(*call->getArg(0)), for_null);
  }
  const auto* compared = llvm::dyn_cast<clang::CXXOperatorCallExpr>(at);
  const auto operation = compared == nullptr ? clang::OO_None : compared->getOperator();
  if ((operation != clang::OO_EqualEqual && operation != clang::OO_ExclaimEqual) || compared->getNumArgs() != 2)
    return std::nullopt;
  const auto is_end = [](const clang::Expr* side) {
    const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(strip(side));
    const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
    return method != nullptr && method->getDeclName().isIdentifier() &&
           (method->getName() == "end" || method->getName() == "cend");
  };
  const bool behind = is_end(compared->getArg(1));
  if (behind == is_end(compared->getArg(0))) return std::nullopt;
  const auto iterator = places_.iterator(compared->getArg(behind ? 0 : 1));
  if (!iterator || iterator->container == ir::kNoPlace) return std::nullopt;
  ir::Expr index{.text = out_.spell(iterator->index), .uses = {iterator->index}, .constant = {}};
  return asks(iterator->container, out_.add(std::move(index)), (operation == clang::OO_EqualEqual) != negated);
}

void Maps::erase(const Call& call) {
  const clang::Expr* which = call.argument(0);
  const clang::QualType type = entry_type(out_.type_of(call.object));
  ir::ExprId at = ir::kNoExpr;
  if (call.arguments.size() == 1) {
    if (const auto known = places_.iterator(which)) {
      ir::Expr index{.text = out_.spell(known->index), .uses = {known->index}, .constant = {}};
      at = out_.add(std::move(index));
    } else if (!unit_.symbols.iterates(which->getType())) {
      at = keys_.key(*which);
    }
  }
  out_.emit_fresh(at == ir::kNoExpr ? call.object : places_.element(call.object, at, type), call.site);
}

}  // namespace streamsan::analyzer::host
