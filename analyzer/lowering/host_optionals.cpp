// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::optional: a place with one place in it. A std::future is another, see host_tasks.cpp.
//
// What it holds is `$0`, as of a tuple of one, and is copied, moved and ended like an element of a tuple. Whether it
// holds anything is not followed: one that is empty holds something of which nothing is known. So what is put into one
// is taken to find it empty (`if (!slot) slot.emplace(...)`), and ends nothing. An empty guard of PyTorch's current
// stream puts back at its end what was the current stream when it was made.
#include "analyzer/lowering/host_optionals.h"

#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_tuples.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::TypeKind;

namespace {

enum class Does : std::uint8_t { Other, Read, Fill, Emplace, Empty, Swap };

Does what(llvm::StringRef name) {
  return llvm::StringSwitch<Does>(name)
      .Cases({"operator*", "operator->", "value", "value_or"}, Does::Read)
      .Case("operator=", Does::Fill)
      .Case("emplace", Does::Emplace)
      .Case("reset", Does::Empty)
      .Case("swap", Does::Swap)
      .Default(Does::Other);
}

}  // namespace

Optionals::Optionals(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      lifetimes_(parts.lifetimes),
      tuples_(parts.tuples) {}

clang::QualType Optionals::held_type(clang::QualType type) const {
  if (type.isNull()) return {};
  const auto* instance =
      llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type.getNonReferenceType()));
  if (instance == nullptr || !instance->isInStdNamespace()) return {};
  const llvm::StringRef name = instance->getName();
  if (name != "optional" && name != "future" && name != "shared_future") return {};
  const clang::TemplateArgument& of = instance->getTemplateArgs()[0];
  return of.getKind() == clang::TemplateArgument::Type ? of.getAsType() : clang::QualType();
}

ir::PlaceId Optionals::held(ir::PlaceId optional, clang::QualType type) {
  const clang::QualType of = held_type(type);
  if (optional == ir::kNoPlace || of.isNull()) return ir::kNoPlace;
  return out_.typed(out_.field(optional, "$0", "std::optional", out_.kind(of)), of);
}

bool Optionals::apply(const Call& call) {
  if (call.object_expression == nullptr || call.object == ir::kNoPlace) return false;
  const clang::QualType type = out_.type_of(call.object);
  const clang::QualType of = held_type(type);
  const ir::PlaceId inside = held(call.object, type);
  if (inside == ir::kNoPlace) return false;
  const clang::Expr* first = call.argument(0);
  switch (what(call.known->callee.name)) {
    case Does::Read:
      if (first != nullptr && out_.kind(of) == TypeKind::Object) return false;
      if (call.known->callee.name == "operator->")
        values_.set_result(*call.expression, address(inside));
      else
        values_.set_result(*call.expression, value(inside), first == nullptr ? inside : ir::kNoPlace);
      return true;
    case Does::Fill:
      if (first == nullptr) return false;
      fill(call, type, *first);
      values_.set_result(*call.expression, value(call.object), call.object);
      return true;
    case Does::Emplace:
      if (call.arguments.size() == 1) {
        fill(call, type, *first);
      } else {
        out_.emit_fresh(inside, call.site);
      }
      values_.set_result(*call.expression, value(inside), inside);
      return true;
    case Does::Empty:
      empty(call, inside, of);
      return true;
    case Does::Swap:
      assignments_.swap(call.object, first == nullptr ? ir::kNoPlace : places_.place(first), call.site);
      return true;
    case Does::Other:
      break;
  }
  return false;
}

bool Optionals::construct(const Call& call) {
  const clang::QualType type = call.expression->getType();
  const ir::PlaceId inside = held(call.object, type);
  if (inside == ir::kNoPlace) return false;
  if (call.arguments.empty()) {
    empty(call, inside, held_type(type));
  } else {
    // optional(in_place, ...): what is made of that is not known.
    const bool one = call.arguments.size() == 1;
    if (one)
      fill(call, type, *call.arguments.front());
    else
      out_.emit_fresh(inside, call.site);
  }
  return true;
}

bool Optionals::destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable) {
  const ir::PlaceId inside = held(object, type);
  if (inside == ir::kNoPlace) return false;
  lifetimes_.destroy(inside, held_type(type), site, variable);
  return true;
}

void Optionals::fill(const Call& call, clang::QualType type, const clang::Expr& given) {
  const clang::QualType of = held_type(type);
  const ir::PlaceId to = held(call.object, type);
  const clang::QualType from_type = given.getType().getNonReferenceType();
  const clang::CXXRecordDecl* record = Symbols::record(from_type);
  if (record != nullptr && record->isInStdNamespace() && record->getName() == "nullopt_t") return empty(call, to, of);
  const bool of_optional = !held_type(from_type).isNull();
  const bool same = unit_.context.hasSameUnqualifiedType(of_optional ? held_type(from_type) : from_type, of);
  if (out_.kind(of) != TypeKind::Object && !of_optional) return assignments_.assign(to, &given);
  // A converted value is another object, made by code that is not looked at.
  ir::PlaceId from = same ? places_.place(&given) : ir::kNoPlace;
  if (of_optional && from != ir::kNoPlace) from = held(from, from_type);
  if (from == to) return;
  if (out_.kind(of) == TypeKind::Object)
    return tuples_.fill(to, from, of, !given.isLValue(), /*assigned=*/false, call.site);
  out_.emit_assign(to, from == ir::kNoPlace ? unknown() : value(from), call.site);
}

void Optionals::empty(const Call& call, ir::PlaceId held, clang::QualType of) {
  if (!llvm::isa<clang::CXXConstructExpr>(call.expression)) lifetimes_.destroy(held, of, call.site);
  const clang::CXXRecordDecl* record = Symbols::record(of);
  const clang::CXXDestructorDecl* end =
      record == nullptr || !record->hasDefinition() ? nullptr : record->getDestructor();
  const Model* model = end == nullptr ? nullptr : unit_.symbols.known(*end).model;
  if (model != nullptr && model->action == ActionKind::MakeCurrent)
    return out_.emit_assign(places_.stream_before(held), value(places_.current_stream()), call.site);
  out_.emit_fresh(held, call.site);
}

}  // namespace streamsan::analyzer::host
