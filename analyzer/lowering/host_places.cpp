// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which place an expression names.
//
// A place is what stays the same while values move through it. Calls that only lead to a place are looked through:
// v[i], *p, up->x, std::move(s). The elements of a vector are named by the vector, `v[i]`, as those of an array are;
// their bytes are in the block `v.$data`. A call that returns a reference leaves a pointer, and the place is what that
// points to.
//
// Base classes are the object itself. The members of an anonymous union are members of the class around it.
#include "analyzer/lowering/host_places.h"

#include <algorithm>

#include "analyzer/ir/field_memory.h"
#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::Place;
using ir::TypeKind;

Places::Places(const Parts& parts)
    : unit_(parts.unit),
      definition_(parts.definition),
      scan_(parts.scan),
      out_(parts.out),
      numbers_(parts.numbers),
      values_(parts.values),
      assignments_(parts.assignments) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition_);
  if (method != nullptr && method->getParent()->isLambda())
    method->getParent()->getCaptureFields(captures_, captured_this_);
}

void Places::declare(const clang::ValueDecl& variable, ir::PlaceId place) { variables_[&variable] = place; }

void Places::bind(const clang::ValueDecl& reference, ir::PlaceId to) { aliases_[&reference] = to; }

void Places::set_allocated(const clang::CXXNewExpr& allocation, ir::PlaceId pointer) {
  allocated_[&allocation] = pointer;
}

void Places::declare_iterator(const clang::VarDecl& variable, const Iterator& iterator) {
  declare(variable, iterator.index);
  iterators_[&variable] = iterator;
  if (iterator.first != ir::kNoExpr) first_indices_[static_cast<std::uint32_t>(iterator.index)] = iterator.first;
}

std::optional<Places::Iterator> Places::iterator(const clang::Expr* expression) const {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(strip(expression));
  const auto* variable = name == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(name->getDecl());
  const auto known = variable == nullptr ? iterators_.end() : iterators_.find(variable);
  return known == iterators_.end() ? std::nullopt : std::optional(known->second);
}

ir::PlaceId Places::known(const clang::ValueDecl& variable) const {
  const auto found = variables_.find(&variable);
  return found == variables_.end() ? ir::kNoPlace : found->second;
}

const clang::ValueDecl* Places::declaration_of(ir::PlaceId place) const {
  const auto found =
      std::find_if(variables_.begin(), variables_.end(), [&](const auto& known) { return known.second == place; });
  return found == variables_.end() ? nullptr : found->first;
}

bool Places::address_taken(ir::PlaceId place) const {
  return std::any_of(variables_.begin(), variables_.end(), [&](const auto& variable) {
    return variable.second == place && unit_.census.address_taken(*variable.first);
  });
}

std::optional<ir::ExprId> Places::first_index(ir::PlaceId index) const {
  const auto found = first_indices_.find(static_cast<std::uint32_t>(index));
  return found == first_indices_.end() ? std::nullopt : std::optional(found->second);
}

ir::PlaceId Places::current_stream() { return out_.global(ir::name(ir::Hidden::CurrentStream), TypeKind::Stream); }

ir::PlaceId Places::returned() {
  const clang::QualType type = definition_.getReturnType();
  if (returned_ == ir::kNoPlace)
    returned_ = type->isReferenceType()
                    ? out_.new_local(ir::name(ir::Hidden::Result), TypeKind::Pointer)
                    : out_.typed(out_.new_local(ir::name(ir::Hidden::Result), out_.kind(type)), type);
  return returned_;
}

ir::PlaceId Places::container_of(ir::PlaceId pointer) const {
  const Place& held = out_[pointer];
  const bool block =
      ir::is(held, ir::Hidden::Data) && held.base != ir::kNoPlace && unit_.symbols.has_block(out_.type_of(held.base));
  return block ? held.base : ir::kNoPlace;
}

clang::QualType Places::element_type(const Operand& pointer) const {
  if (pointer.place == ir::kNoPlace) return {};
  const Place& held = out_[pointer.place];
  const clang::QualType type = out_.type_of(ir::is(held, ir::Hidden::Data) ? held.base : pointer.place);
  if (type.isNull()) return {};
  if (type->isPointerType()) return type->getPointeeType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) return array->getElementType();
  const auto* container = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  if (container == nullptr || container->getTemplateArgs().size() == 0) return {};
  const clang::TemplateArgument& first = container->getTemplateArgs()[0];
  return first.getKind() == clang::TemplateArgument::Type ? first.getAsType() : clang::QualType();
}

ir::PlaceId Places::element(ir::PlaceId base, ir::ExprId index, clang::QualType type) {
  if (const ir::PlaceId first = index == ir::kNoExpr ? ir::kNoPlace : begin(base); first != ir::kNoPlace) {
    const ir::ExprId from = numbers_.index_of(first);
    index = numbers_.sum(out_[index].unit == 0 ? from : numbers_.stepped(from, type), index);
  }
  const ir::ExprId at = numbers_.stepped(index, type);
  return out_.element(base, at, type);
}

ir::PlaceId Places::data(ir::PlaceId owner) {
  const clang::CXXRecordDecl* record = Symbols::record(out_.type_of(owner));
  return out_.field(owner, ir::name(ir::Hidden::Data), record == nullptr ? std::string() : Symbols::qualified(*record),
                    TypeKind::Pointer);
}

ir::PlaceId Places::size(ir::PlaceId container) {
  if (container == ir::kNoPlace) return container;
  const clang::QualType type = out_.type_of(container);
  if (!unit_.symbols.has_block(type) || unit_.symbols.views(type)) return ir::kNoPlace;
  const TypeKind of = out_.kind(element_type(value(container)));
  if (of == TypeKind::Other || of == TypeKind::Integer) return ir::kNoPlace;
  return out_.field(container, ir::name(ir::Hidden::Size), "", TypeKind::Integer);
}

ir::PlaceId Places::begin(ir::PlaceId container) {
  if (container == ir::kNoPlace || !unit_.symbols.queues(out_.type_of(container)) || size(container) == ir::kNoPlace)
    return ir::kNoPlace;
  return out_.field(container, ir::name(ir::Hidden::Begin), "", TypeKind::Integer);
}

ir::ExprId Places::last_index(ir::PlaceId container) {
  const ir::PlaceId many = size(container);
  if (many == ir::kNoPlace)
    return out_.add(ir::Expr{.text = out_.spell(container) + ".size() - 1", .uses = {}, .constant = {}});
  return out_.add(ir::Expr{.text = out_.spell(many) + " - 1", .uses = {many}, .constant = {}});
}

bool Places::adapts(ir::PlaceId container) const {
  return container != ir::kNoPlace && unit_.symbols.adapts(out_.type_of(container));
}

ir::PlaceId Places::stream_of(ir::PlaceId owner) {
  return out_.field(owner, ir::name(ir::Hidden::Stream), "", TypeKind::Stream);
}

ir::PlaceId Places::stream_before(ir::PlaceId guard) {
  return out_.field(guard, ir::name(ir::Hidden::Previous), "", TypeKind::Stream);
}

ir::PlaceId Places::this_place() {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition_);
  const ir::PlaceId self = out_.self();
  if (method == nullptr) return self;
  const clang::QualType type = unit_.context.getCanonicalTagType(method->getParent());
  if (!method->getParent()->isLambda()) return out_.typed(self, type);
  // In a lambda, `this` is what it captured.
  if (captured_this_ == nullptr) return self;
  const ir::PlaceId pointer = out_.field(self, ir::name(ir::Hidden::Captured), ir::kLambda, TypeKind::Pointer);
  return pointee(value(pointer), captured_this_->getType()->getPointeeType());
}

ir::PlaceId Places::closure_field(ir::PlaceId closure, const clang::ValueDecl& variable, bool reference) {
  const TypeKind type = reference ? TypeKind::Pointer : out_.kind(variable.getType());
  const ir::PlaceId id = out_.field(closure, variable.getNameAsString(), ir::kLambda, type);
  return reference ? id : out_.typed(id, variable.getType());
}

ir::PlaceId Places::variable(const clang::ValueDecl& declaration) {
  if (const auto* binding = llvm::dyn_cast<clang::BindingDecl>(&declaration))
    return binding->getBinding() == nullptr ? ir::kNoPlace : place(binding->getBinding());
  if (const auto alias = aliases_.find(&declaration); alias != aliases_.end()) return alias->second;
  if (const auto known = variables_.find(&declaration); known != variables_.end()) return known->second;
  if (const auto capture = captures_.find(&declaration); capture != captures_.end()) {
    const bool reference = capture->second->getType()->isReferenceType();
    const ir::PlaceId id = closure_field(out_.self(), declaration, reference);
    return reference ? pointee(value(id), declaration.getType().getNonReferenceType()) : id;
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
  if (variable == nullptr) return ir::kNoPlace;
  const clang::QualType type = variable->getType();
  const bool reference = type->isReferenceType();
  const TypeKind of = reference ? TypeKind::Pointer : out_.kind(type);
  const ir::PlaceId id =
      variable->hasLocalStorage()
          ? out_.new_local(variable->getNameAsString(), of)
          : out_.global(Symbols::qualified(*variable), of, variable->hasExternalFormalLinkage() ? 0 : ir::kOfThisFile);
  if (!reference) return variables_[&declaration] = out_.typed(id, type);
  return aliases_[&declaration] = pointee(value(id), type.getNonReferenceType());
}

ir::PlaceId Places::member(ir::PlaceId base, const clang::ValueDecl& declaration) {
  if (base == ir::kNoPlace) return ir::kNoPlace;
  const auto* field_declaration = llvm::dyn_cast<clang::FieldDecl>(&declaration);
  if (field_declaration == nullptr) return ir::kNoPlace;
  if (field_declaration->isAnonymousStructOrUnion()) return base;
  const auto* owner = llvm::dyn_cast<clang::NamedDecl>(field_declaration->getParent());
  const bool reference = declaration.getType()->isReferenceType();
  const ir::PlaceId id = out_.field(base, declaration.getNameAsString(), owner->getQualifiedNameAsString(),
                                    reference ? TypeKind::Pointer : out_.kind(declaration.getType()));
  return reference ? id : out_.typed(id, declaration.getType());
}

ir::PlaceId Places::pointee(const Operand& pointer, clang::QualType type) {
  if (pointer.offset != ir::kNoExpr) return subscript(pointer, ir::kNoExpr, type);
  if (pointer.kind == Operand::Kind::Address) return pointer.place;
  if (pointer.kind != Operand::Kind::Value) return ir::kNoPlace;
  if (const ir::PlaceId container = container_of(pointer.place); container != ir::kNoPlace)
    return element(container, numbers_.number(0), type);
  return out_.dereferenced(pointer.place, type);
}

ir::PlaceId Places::subscript(const Operand& pointer, ir::ExprId index, clang::QualType type) {
  if (pointer.kind != Operand::Kind::Address && pointer.kind != Operand::Kind::Value) return ir::kNoPlace;
  const ir::ExprId counted = numbers_.stepped(index, type);
  const ir::ExprId at = pointer.offset == ir::kNoExpr ? counted
                        : counted == ir::kNoExpr      ? pointer.offset
                                                      : numbers_.sum(pointer.offset, counted);
  ir::PlaceId base = pointer.place;
  if (pointer.kind == Operand::Kind::Value) {
    if (const ir::PlaceId container = container_of(base); container != ir::kNoPlace) base = container;
  } else if (out_[base].kind == Place::Kind::Index && !out_.type_of(base).isNull() &&
             !out_.type_of(base)->isArrayType()) {
    // (&a[i])[j]
    const Place of = out_[base];
    return element(of.base, numbers_.sum(of.index, at), type);
  }
  return element(base, at, type);
}

ir::PlaceId Places::place(const clang::Expr* expression) {
  if (expression == nullptr) return ir::kNoPlace;
  expression = strip(expression);
  if (const Values::Result* known = values_.result(expression)) return known->place;
  switch (expression->getStmtClass()) {
    case clang::Stmt::DeclRefExprClass: {
      const clang::ValueDecl* declaration = llvm::cast<clang::DeclRefExpr>(expression)->getDecl();
      return llvm::isa<clang::VarDecl, clang::BindingDecl>(declaration) ? variable(*declaration) : ir::kNoPlace;
    }
    case clang::Stmt::MemberExprClass: {
      const auto* access = llvm::cast<clang::MemberExpr>(expression);
      const clang::ValueDecl* declaration = access->getMemberDecl();
      if (llvm::isa<clang::VarDecl>(declaration)) return variable(*declaration);
      const ir::PlaceId base = access->isArrow() ? pointee(values_.operand(access->getBase()),
                                                           access->getBase()->getType()->getPointeeType())
                                                 : place(access->getBase());
      const ir::PlaceId id = member(base, *declaration);
      return id != ir::kNoPlace && declaration->getType()->isReferenceType()
                 ? pointee(value(id), declaration->getType().getNonReferenceType())
                 : id;
    }
    case clang::Stmt::ArraySubscriptExprClass: {
      const auto* access = llvm::cast<clang::ArraySubscriptExpr>(expression);
      return subscript(values_.operand(access->getBase()), values_.expr(access->getIdx()), access->getType());
    }
    case clang::Stmt::UnaryOperatorClass: {
      const auto* unary = llvm::cast<clang::UnaryOperator>(expression);
      if (unary->getOpcode() == clang::UO_Deref) {
        if (const auto known = iterator(unary->getSubExpr()))
          return known->container == ir::kNoPlace
                     ? ir::kNoPlace
                     : element(known->container, numbers_.index_of(known->index), unary->getType());
        return pointee(values_.operand(unary->getSubExpr()), unary->getType());
      }
      return unary->isPrefix() && unary->isIncrementDecrementOp() ? place(unary->getSubExpr()) : ir::kNoPlace;
    }
    case clang::Stmt::BinaryOperatorClass:
    case clang::Stmt::CompoundAssignOperatorClass: {
      const auto* binary = llvm::cast<clang::BinaryOperator>(expression);
      return binary->isAssignmentOp() ? place(binary->getLHS()) : ir::kNoPlace;
    }
    case clang::Stmt::InitListExprClass: {
      const auto* list = llvm::cast<clang::InitListExpr>(expression);
      if (list->getNumInits() == 1 && (list->isTransparent() || out_.kind(list->getType()) != TypeKind::Object))
        return place(list->getInit(0));
      if (out_.kind(list->getType()) != TypeKind::Object) return ir::kNoPlace;
      const ir::PlaceId object = destination(*list, list->getType());
      values_.set_result(*expression, value(object), object);
      assignments_.initialize_parts(object, *list);
      return object;
    }
    default:
      return ir::kNoPlace;
  }
}

ir::PlaceId Places::target_of(const clang::Expr* pointer) {
  const clang::Expr* at = strip(pointer);
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary && unary->getOpcode() == clang::UO_AddrOf)
    return place(unary->getSubExpr());
  const Operand out = values_.operand(at);
  clang::QualType type = at->getType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) {
    // The array itself: its first element.
    return out.kind == Operand::Kind::Address ? element(out.place, numbers_.number(0), array->getElementType())
                                              : ir::kNoPlace;
  }
  type = type->isPointerType() ? type->getPointeeType() : clang::QualType();
  if (type.isNull()) return ir::kNoPlace;
  return pointee(out, type);
}

ir::PlaceId Places::destination(const clang::Expr& expression, clang::QualType type) {
  if (const auto found = scan_.destinations.find(&expression); found != scan_.destinations.end()) {
    const Destination& to = found->second;
    switch (to.kind) {
      case Destination::Kind::Variable:
        return variable(*static_cast<const clang::VarDecl*>(to.of));
      case Destination::Kind::Member: {
        const auto* initializer = static_cast<const clang::CXXCtorInitializer*>(to.of);
        if (const clang::FieldDecl* field = initializer->getAnyMember()) {
          const ir::PlaceId target = member(this_place(), *field);
          if (target != ir::kNoPlace) return target;
          break;
        }
        return this_place();
      }
      case Destination::Kind::Result:
        if (definition_.getReturnType()->isReferenceType() || out_.kind(definition_.getReturnType()) == TypeKind::Other)
          break;
        return returned();
      case Destination::Kind::New:
        if (const auto made = allocated_.find(static_cast<const clang::CXXNewExpr*>(to.of)); made != allocated_.end())
          return pointee(value(made->second), static_cast<const clang::CXXNewExpr*>(to.of)->getAllocatedType());
        break;
    }
  }
  return out_.object_temporary(type);
}

}  // namespace streamsan::analyzer::host
