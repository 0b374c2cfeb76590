// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of maps that are no numbers.
//
//   std::tuple, std::pair, a struct of numbers    the expression of its parts: `{device, bytes}`
//   a literal of a string                         a number that stands for it
//   a parameter that is a constant string         its `$word`, which is that number where the caller gives a literal
//
// Two keys are equal if they are made of the same values in the same way. So what was put in under a key is found again
// by whoever comes with an equal one. Any other string is equal to none, as the program may change it without the
// analysis noticing: errs towards silence.
#include "analyzer/lowering/map_keys.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_tuples.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/Support/xxhash.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::TypeKind;

namespace {

constexpr int kDeepestKey = 3;

/// A number that no program counts up to.
std::int64_t number_of(llvm::StringRef text) {
  constexpr std::int64_t kWords = std::int64_t{1} << 40;
  return kWords | static_cast<std::int64_t>(llvm::xxh3_64bits(text) & (kWords - 1));
}

bool is_string(clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  return record != nullptr && record->isInStdNamespace() && record->getIdentifier() != nullptr &&
         (record->getName() == "basic_string" || record->getName() == "basic_string_view");
}

/// The literal that a string is made of; nullptr: of something else.
const clang::StringLiteral* literal(const clang::Expr* written) {
  for (const clang::Expr* at = strip(written); at != nullptr;) {
    if (const auto* text = llvm::dyn_cast<clang::StringLiteral>(at))
      return text->getCharByteWidth() == 1 ? text : nullptr;
    const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(at);
    const bool alone =
        made != nullptr &&
        (made->getNumArgs() == 1 || (made->getNumArgs() == 2 && llvm::isa<clang::CXXDefaultArgExpr>(made->getArg(1))));
    at = alone ? strip(made->getArg(0)) : nullptr;
  }
  return nullptr;
}

const clang::ParmVarDecl* constant_parameter(const clang::Expr* written) {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(strip(written));
  const auto* parameter = name == nullptr ? nullptr : llvm::dyn_cast<clang::ParmVarDecl>(name->getDecl());
  const bool stays = parameter != nullptr && parameter->getType().getNonReferenceType().isConstQualified();
  return stays ? parameter : nullptr;
}

}  // namespace

MapKeys::MapKeys(const Parts& parts)
    : unit_(parts.unit), out_(parts.out), places_(parts.places), values_(parts.values), tuples_(parts.tuples) {}

void MapKeys::append(ir::Expr& to, const ir::Expr& part) {
  if (!to.text.empty()) to.text += ", ";
  to.text += part.text;
  to.uses.insert(to.uses.end(), part.uses.begin(), part.uses.end());
  if (!part.constant) to.constant.reset();
}

ir::PlaceId MapKeys::word_of(ir::PlaceId string) {
  return string == ir::kNoPlace ? string : out_.field(string, ir::name(ir::Hidden::Word), "", TypeKind::Integer);
}

std::optional<ir::Expr> MapKeys::word(const clang::Expr* written) {
  if (const clang::StringLiteral* text = literal(written))
    return ir::Expr{.text = text->getString().str(), .uses = {}, .constant = number_of(text->getString())};
  const clang::ParmVarDecl* parameter = constant_parameter(written);
  const ir::PlaceId held = parameter == nullptr ? ir::kNoPlace : word_of(places_.variable(*parameter));
  if (held == ir::kNoPlace) return std::nullopt;
  return ir::Expr{.text = out_.spell(held), .uses = {held}, .constant = {}};
}

bool MapKeys::add_place(ir::Expr& to, ir::PlaceId part, clang::QualType type, int depth) {
  if (part == ir::kNoPlace || depth > kDeepestKey) return false;
  const TypeKind of = out_.kind(part);
  if (of == TypeKind::Other) return false;
  if (of != TypeKind::Object) {
    append(to, {.text = out_.spell(part), .uses = {part}, .constant = {}});
    return true;
  }
  const auto elements = tuples_.elements(type);
  for (unsigned i = 0; i < elements.size(); ++i)
    if (!add_place(to, tuples_.element(part, type, i), elements[i], depth + 1)) return false;
  if (!elements.empty()) return true;
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || !record->hasDefinition() || record->isInStdNamespace() || record->getNumBases() > 0 ||
      record->isUnion() || record->field_empty())
    return false;
  return llvm::all_of(record->fields(), [&](const clang::FieldDecl* field) {
    return add_place(to, places_.member(part, *field), field->getType(), depth + 1);
  });
}

bool MapKeys::add(ir::Expr& to, const clang::Expr* part, int depth) {
  if (part == nullptr || depth > kDeepestKey) return false;
  const clang::QualType type = part->getType().getNonReferenceType();
  const TypeKind of = out_.kind(type);
  if (of != TypeKind::Object) {
    if (of == TypeKind::Other && !type->isIntegralOrEnumerationType()) return false;
    const ir::Expr number = values_.scalar(part);
    if (number.uses.empty() && !number.constant) return false;
    append(to, number);
    return true;
  }
  const clang::Expr* at = strip(part);
  llvm::ArrayRef<const clang::Expr*> parts;
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(at)) {
    parts = {const_cast<clang::InitListExpr*>(list)->getInits(), list->getNumInits()};
  } else if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(at)) {
    if (made->getNumArgs() == 1) return add(to, made->getArg(0), depth + 1);
    if (!made->getConstructor()->getParent()->isInStdNamespace()) return false;
    parts = {made->getArgs(), made->getNumArgs()};
  } else if (const auto* call = llvm::dyn_cast<clang::CallExpr>(at)) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    const bool makes =
        callee != nullptr && callee->isInStdNamespace() && callee->getIdentifier() != nullptr &&
        (callee->getName() == "make_pair" || callee->getName() == "make_tuple" || callee->getName() == "tie");
    if (!makes) return false;
    parts = {call->getArgs(), call->getNumArgs()};
  } else {
    return at->isGLValue() && add_place(to, places_.place(at), type, depth);
  }
  return !parts.empty() && llvm::all_of(parts, [&](const clang::Expr* each) { return add(to, each, depth + 1); });
}

ir::ExprId MapKeys::key(const clang::Expr& written) {
  if (is_string(written.getType()) || literal(&written) != nullptr) {
    if (auto known = word(&written)) return out_.add(std::move(*known));
  } else if (out_.kind(written.getType()) == TypeKind::Object) {
    ir::Expr whole{.text = {}, .uses = {}, .constant = 0};
    if (add(whole, &written, 0)) {
      whole.text = "{" + whole.text + "}";
      if (whole.constant) whole.constant = number_of(whole.text);
      return out_.add(std::move(whole));
    }
  }
  return values_.expr(&written);
}

void MapKeys::name_words(const Call& call) {
  for (unsigned i = 0; i < call.arguments.size() && i < call.callee->getNumParams(); ++i) {
    const clang::QualType type = call.callee->getParamDecl(i)->getType();
    if (!is_string(type) || !type.getNonReferenceType().isConstQualified()) continue;
    if (constant_parameter(call.arguments[i]) != nullptr) continue;
    const ir::PlaceId held = word_of(places_.place(call.arguments[i]));
    const clang::StringLiteral* text = literal(call.arguments[i]);
    if (text == nullptr) {
      out_.emit_fresh(held, call.site);
      continue;
    }
    ir::Expr number{.text = text->getString().str(), .uses = {}, .constant = number_of(text->getString())};
    out_.emit_assign(held, {.kind = Operand::Kind::Number, .offset = out_.add(std::move(number))}, call.site);
  }
}

}  // namespace streamsan::analyzer::host
