// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::pair and std::tuple: places with places in them.
//
// The elements of a pair are its two fields; those of a tuple are `$0`, `$1`, ... An element that is a reference, as of
// std::tie, is a pointer to what it is bound to. A structured binding is a reference that get<N>() initialises. Copies
// and moves go element by element, as tensors and owners of memory want it; what other classes do when they are moved
// is code of theirs that the library calls, and nothing is known of what it leaves behind.
#include "analyzer/lowering/host_tuples.h"

#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer::host {

using ir::TypeKind;

Tuples::Tuples(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      lifetimes_(parts.lifetimes),
      tensors_(parts.tensors) {}

llvm::SmallVector<clang::QualType, 4> Tuples::elements(clang::QualType type) const {
  llvm::SmallVector<clang::QualType, 4> result;
  if (!unit_.symbols.is_tuple(type)) return result;
  const auto* instance = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
  if (instance == nullptr) return result;
  for (const clang::TemplateArgument& argument : instance->getTemplateArgs().asArray()) {
    if (argument.getKind() == clang::TemplateArgument::Type) result.push_back(argument.getAsType());
    if (argument.getKind() != clang::TemplateArgument::Pack) continue;
    for (const clang::TemplateArgument& each : argument.pack_elements())
      if (each.getKind() == clang::TemplateArgument::Type) result.push_back(each.getAsType());
  }
  return result;
}

ir::PlaceId Tuples::slot(ir::PlaceId tuple, clang::QualType type, unsigned number) {
  const auto types = elements(type);
  if (tuple == ir::kNoPlace || number >= types.size()) return ir::kNoPlace;
  const clang::CXXRecordDecl* record = Symbols::record(type);
  // A pair's elements have names of their own.
  const llvm::StringRef name = number == 0 ? "first" : "second";
  for (const clang::FieldDecl* field : record->fields())
    if (field->getName() == name) return places_.member(tuple, *field);
  const clang::QualType of = types[number];
  const TypeKind kind = of->isReferenceType() ? TypeKind::Pointer : out_.kind(of);
  const ir::PlaceId id = out_.field(tuple, "$" + std::to_string(number), Symbols::qualified(*record), kind);
  return of->isReferenceType() ? id : out_.typed(id, of);
}

ir::PlaceId Tuples::element(ir::PlaceId tuple, clang::QualType type, unsigned number) {
  const ir::PlaceId kept = slot(tuple, type, number);
  if (kept == ir::kNoPlace) return kept;
  const clang::QualType of = elements(type)[number];
  return of->isReferenceType() ? places_.pointee(value(kept), of.getNonReferenceType()) : kept;
}

bool Tuples::apply(const Call& call) {
  const std::string& name = call.known->callee.qualified;
  if (!llvm::StringRef(name).starts_with("std::")) return false;
  if (name == "std::get") return get(call);
  const clang::QualType type = call.expression->getType();
  const bool makes = llvm::StringSwitch<bool>(name)
                         .Cases({"std::make_tuple", "std::make_pair", "std::tie", "std::forward_as_tuple"}, true)
                         .Default(false);
  if (makes) {
    if (elements(type).empty()) return false;
    put_all(values_.result_place(*call.expression), type, call);
    return true;
  }
  if (call.callee->getOverloadedOperator() != clang::OO_Equal || call.object_expression == nullptr) return false;
  const clang::QualType target = call.object_expression->getType();
  const clang::Expr* given = call.argument(0);
  if (elements(target).empty() || given == nullptr || call.object == ir::kNoPlace) return false;
  copy(call.object, target, places_.place(given), given->getType(), !given->isLValue(), /*assigned=*/true, call.site);
  values_.set_result(*call.expression, value(call.object), call.object);
  return true;
}

bool Tuples::construct(const Call& call) {
  const clang::QualType type = call.expression->getType();
  const auto types = elements(type);
  if (types.empty()) return false;
  const clang::Expr* first = call.argument(0);
  if (call.arguments.size() == 1 && !elements(first->getType()).empty() &&
      elements(first->getType()).size() == types.size()) {
    copy(call.object, type, places_.place(first), first->getType(), !first->isLValue(), /*assigned=*/false, call.site);
  } else if (call.arguments.size() == types.size()) {
    put_all(call.object, type, call);
  } else {
    out_.emit_fresh(call.object, call.site);
  }
  return true;
}

bool Tuples::destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable) {
  const auto types = elements(type);
  for (unsigned i = static_cast<unsigned>(types.size()); i-- > 0;)
    if (!types[i]->isReferenceType()) lifetimes_.destroy(slot(object, type, i), types[i], site, variable);
  return !types.empty();
}

bool Tuples::get(const Call& call) {
  const clang::Expr* given = call.argument(0);
  const auto types = given == nullptr ? llvm::SmallVector<clang::QualType, 4>() : elements(given->getType());
  const clang::TemplateArgumentList* arguments = call.callee->getTemplateSpecializationArgs();
  if (types.empty() || arguments == nullptr || arguments->size() == 0) return false;
  const clang::TemplateArgument& which = arguments->get(0);
  unsigned number = 0;
  if (which.getKind() == clang::TemplateArgument::Integral) {
    number = static_cast<unsigned>(which.getAsIntegral().getZExtValue());
  } else if (which.getKind() == clang::TemplateArgument::Type) {
    while (number < types.size() && !unit_.context.hasSameType(types[number], which.getAsType())) ++number;
  }
  const ir::PlaceId at = element(places_.place(given), given->getType(), number);
  values_.set_result(*call.expression, at == ir::kNoPlace ? unknown() : value(at), at);
  return true;
}

void Tuples::put_all(ir::PlaceId tuple, clang::QualType type, const Call& call) {
  for (unsigned i = 0; i < call.arguments.size(); ++i) put(tuple, type, i, *call.arguments[i], call.site);
}

void Tuples::put(ir::PlaceId tuple, clang::QualType type, unsigned number, const clang::Expr& given, ir::SiteId site) {
  const auto types = elements(type);
  const ir::PlaceId to = slot(tuple, type, number);
  if (to == ir::kNoPlace) return;
  const clang::QualType of = types[number];
  if (of->isReferenceType()) {
    const ir::PlaceId referent = places_.place(&given);
    return out_.emit_assign(to, referent == ir::kNoPlace ? unknown() : values_.address_of(referent), site);
  }
  const ir::PlaceId from = out_.kind(of) == TypeKind::Object ? places_.place(&given) : ir::kNoPlace;
  if (from == ir::kNoPlace) return assignments_.assign(to, &given);
  fill(to, from, of, !given.isLValue(), /*assigned=*/false, site);
}

void Tuples::copy(ir::PlaceId to, clang::QualType to_type, ir::PlaceId from, clang::QualType from_type, bool moves,
                  bool assigned, ir::SiteId site) {
  const auto types = elements(to_type);
  for (unsigned i = 0; i < types.size(); ++i) {
    const ir::PlaceId source = element(from, from_type, i);
    if (types[i]->isReferenceType() && !assigned) {
      const ir::PlaceId kept = slot(to, to_type, i);
      out_.emit_assign(kept, source == ir::kNoPlace ? unknown() : values_.address_of(source), site);
    } else if (const ir::PlaceId target = element(to, to_type, i); target != ir::kNoPlace) {
      fill(target, source, types[i].getNonReferenceType(), moves, assigned, site);
    }
  }
}

void Tuples::fill(ir::PlaceId to, ir::PlaceId from, clang::QualType type, bool moves, bool assigned, ir::SiteId site) {
  if (to == from || out_.kind(to) == TypeKind::Other) return;
  if (!elements(type).empty()) return copy(to, type, from, type, moves, assigned, site);
  const bool tensor = unit_.symbols.is_tensor(type);
  if (assigned && tensor) {
    tensors_.keep_lent(from, site);
    tensors_.free_tensor(to, site);
  } else if (assigned && from != ir::kNoPlace) {
    lifetimes_.destroy_owner(to, type, site, nullptr);
  }
  if (from == ir::kNoPlace) {
    out_.emit_fresh(to, site);
    if (tensor) out_.emit_fresh(places_.data(to), site);
  } else if (moves) {
    assignments_.move_object(to, from, type, site);
  } else if (out_.kind(to) == TypeKind::Object) {
    assignments_.copy_object(to, from, type);
  } else {
    out_.emit_assign(to, value(from), site);
  }
}

}  // namespace streamsan::analyzer::host
