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
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

#include "analyzer/lowering/host_body.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::Place;
using ir::TypeKind;

ir::PlaceId Body::typed(ir::PlaceId place, clang::QualType type) {
  const auto index = static_cast<std::size_t>(place);
  if (place_types_.size() <= index) place_types_.resize(index + 1);
  if (place_types_[index].isNull() && !type.isNull()) place_types_[index] = type.getNonReferenceType();
  return place;
}

clang::QualType Body::type_of(ir::PlaceId place) const {
  const auto index = static_cast<std::size_t>(place);
  return index < place_types_.size() ? place_types_[index] : clang::QualType();
}

clang::QualType Body::element_type(const Operand& pointer) const {
  if (pointer.place == ir::kNoPlace) return {};
  const Place& held = function_[pointer.place];
  const clang::QualType type = type_of(held.name == "$data" ? held.base : pointer.place);
  if (type.isNull()) return {};
  if (type->isPointerType()) return type->getPointeeType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) return array->getElementType();
  const auto* container = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  if (container == nullptr || container->getTemplateArgs().size() == 0) return {};
  const clang::TemplateArgument& first = container->getTemplateArgs()[0];
  return first.getKind() == clang::TemplateArgument::Type ? first.getAsType() : clang::QualType();
}

ir::PlaceId Body::temporary(TypeKind type, const std::string& name) {
  return function_.add(Place{.kind = Place::Kind::Temporary, .type = type, .name = name, .number = ++temporaries_});
}

ir::PlaceId Body::object_temporary(clang::QualType type) { return typed(temporary(kind(type)), type); }

ir::PlaceId Body::new_local(const std::string& name, TypeKind type) {
  return function_.add(Place{.kind = Place::Kind::Local, .type = type, .name = name, .number = names_[name]++});
}

ir::PlaceId Body::global(const std::string& name, TypeKind type) {
  return function_.add(Place{.kind = Place::Kind::Global, .type = type, .name = name});
}

ir::PlaceId Body::field(ir::PlaceId base, const std::string& name, const std::string& owner, TypeKind type) {
  return function_.add(Place{.kind = Place::Kind::Field, .type = type, .name = name, .owner = owner, .base = base});
}

ir::PlaceId Body::element(ir::PlaceId base, ir::ExprId index, clang::QualType type) {
  const ir::ExprId at = stepped(index, type);
  return typed(function_.add(Place{.kind = Place::Kind::Index, .type = kind(type), .base = base, .index = at}), type);
}

ir::PlaceId Body::data(ir::PlaceId owner) {
  const clang::CXXRecordDecl* record = Symbols::record(type_of(owner));
  return field(owner, "$data", record == nullptr ? std::string() : Symbols::qualified(*record), TypeKind::Pointer);
}

ir::PlaceId Body::this_place() {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition_);
  const ir::PlaceId self = function_.add(Place{.kind = Place::Kind::This, .type = TypeKind::Object, .name = "this"});
  if (method == nullptr) return self;
  const clang::QualType type = unit_.context.getCanonicalTagType(method->getParent());
  if (!method->getParent()->isLambda()) return typed(self, type);
  // In a lambda, `this` is what it captured.
  if (captured_this_ == nullptr) return self;
  const ir::PlaceId pointer = field(self, "$this", "lambda", TypeKind::Pointer);
  return pointee(value(pointer), captured_this_->getType()->getPointeeType());
}

ir::PlaceId Body::closure_field(ir::PlaceId closure, const clang::ValueDecl& variable, bool reference) {
  const TypeKind type = reference ? TypeKind::Pointer : kind(variable.getType());
  const ir::PlaceId id = field(closure, variable.getNameAsString(), "lambda", type);
  return reference ? id : typed(id, variable.getType());
}

ir::PlaceId Body::variable(const clang::ValueDecl& declaration) {
  if (const auto* binding = llvm::dyn_cast<clang::BindingDecl>(&declaration))
    return binding->getBinding() == nullptr ? ir::kNoPlace : place(binding->getBinding());
  if (const auto alias = aliases_.find(&declaration); alias != aliases_.end()) return alias->second;
  if (const auto known = variables_.find(&declaration); known != variables_.end()) return known->second;
  if (const auto capture = captures_.find(&declaration); capture != captures_.end()) {
    const ir::PlaceId self = function_.add(Place{.kind = Place::Kind::This, .type = TypeKind::Object, .name = "this"});
    const bool reference = capture->second->getType()->isReferenceType();
    const ir::PlaceId id = closure_field(self, declaration, reference);
    return reference ? pointee(value(id), declaration.getType().getNonReferenceType()) : id;
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
  if (variable == nullptr) return ir::kNoPlace;
  const clang::QualType type = variable->getType();
  const bool reference = type->isReferenceType();
  const TypeKind of = reference ? TypeKind::Pointer : kind(type);
  const ir::PlaceId id = variable->hasLocalStorage() ? new_local(variable->getNameAsString(), of)
                                                     : global(Symbols::qualified(*variable), of);
  if (!reference) return variables_[&declaration] = typed(id, type);
  return aliases_[&declaration] = pointee(value(id), type.getNonReferenceType());
}

ir::PlaceId Body::member(ir::PlaceId base, const clang::ValueDecl& declaration) {
  if (base == ir::kNoPlace) return ir::kNoPlace;
  const auto* field_declaration = llvm::dyn_cast<clang::FieldDecl>(&declaration);
  if (field_declaration == nullptr) return ir::kNoPlace;
  if (field_declaration->isAnonymousStructOrUnion()) return base;
  const auto* owner = llvm::dyn_cast<clang::NamedDecl>(field_declaration->getParent());
  const bool reference = declaration.getType()->isReferenceType();
  const ir::PlaceId id = field(base, declaration.getNameAsString(), owner->getQualifiedNameAsString(),
                               reference ? TypeKind::Pointer : kind(declaration.getType()));
  return reference ? id : typed(id, declaration.getType());
}

ir::PlaceId Body::pointee(const Operand& pointer, clang::QualType type) {
  if (pointer.offset != ir::kNoExpr) return subscript(pointer, ir::kNoExpr, type);
  if (pointer.kind == Operand::Kind::Address) return pointer.place;
  if (pointer.kind != Operand::Kind::Value) return ir::kNoPlace;
  const Place& held = function_[pointer.place];
  if (held.name == "$data" && held.base != ir::kNoPlace && unit_.symbols.has_block(type_of(held.base)))
    return element(held.base, number(0), type);
  return typed(function_.add(Place{.kind = Place::Kind::Deref, .type = kind(type), .base = pointer.place}), type);
}

ir::PlaceId Body::subscript(const Operand& pointer, ir::ExprId index, clang::QualType type) {
  if (pointer.kind != Operand::Kind::Address && pointer.kind != Operand::Kind::Value) return ir::kNoPlace;
  const ir::ExprId counted = stepped(index, type);
  const ir::ExprId at = pointer.offset == ir::kNoExpr ? counted
                        : counted == ir::kNoExpr      ? pointer.offset
                                                      : sum(pointer.offset, counted);
  ir::PlaceId base = pointer.place;
  if (pointer.kind == Operand::Kind::Value) {
    const Place& held = function_[base];
    if (held.name == "$data" && held.base != ir::kNoPlace && unit_.symbols.has_block(type_of(held.base)))
      base = held.base;
  } else if (function_[base].kind == Place::Kind::Index && !type_of(base).isNull() && !type_of(base)->isArrayType()) {
    // (&a[i])[j]
    const Place of = function_[base];
    return element(of.base, sum(of.index, at), type);
  }
  return element(base, at, type);
}

ir::PlaceId Body::place(const clang::Expr* expression) {
  if (expression == nullptr) return ir::kNoPlace;
  expression = strip(expression);
  if (const Result* known = result(expression)) return known->place;
  switch (expression->getStmtClass()) {
    case clang::Stmt::DeclRefExprClass: {
      const clang::ValueDecl* declaration = llvm::cast<clang::DeclRefExpr>(expression)->getDecl();
      return llvm::isa<clang::VarDecl, clang::BindingDecl>(declaration) ? variable(*declaration) : ir::kNoPlace;
    }
    case clang::Stmt::MemberExprClass: {
      const auto* access = llvm::cast<clang::MemberExpr>(expression);
      const clang::ValueDecl* declaration = access->getMemberDecl();
      if (llvm::isa<clang::VarDecl>(declaration)) return variable(*declaration);
      const ir::PlaceId base = access->isArrow()
                                   ? pointee(operand(access->getBase()), access->getBase()->getType()->getPointeeType())
                                   : place(access->getBase());
      const ir::PlaceId id = member(base, *declaration);
      return id != ir::kNoPlace && declaration->getType()->isReferenceType()
                 ? pointee(value(id), declaration->getType().getNonReferenceType())
                 : id;
    }
    case clang::Stmt::ArraySubscriptExprClass: {
      const auto* access = llvm::cast<clang::ArraySubscriptExpr>(expression);
      return subscript(operand(access->getBase()), expr(access->getIdx()), access->getType());
    }
    case clang::Stmt::UnaryOperatorClass: {
      const auto* unary = llvm::cast<clang::UnaryOperator>(expression);
      if (unary->getOpcode() == clang::UO_Deref) {
        if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(strip(unary->getSubExpr())))
          if (const auto* iterator = llvm::dyn_cast<clang::VarDecl>(reference->getDecl()))
            if (const auto range = iterated_.find(iterator); range != iterated_.end())
              return range->second == ir::kNoPlace
                         ? ir::kNoPlace
                         : element(range->second, index_of(variables_[iterator]), unary->getType());
        return pointee(operand(unary->getSubExpr()), unary->getType());
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
      if (list->getNumInits() == 1 && (list->isTransparent() || kind(list->getType()) != TypeKind::Object))
        return place(list->getInit(0));
      if (kind(list->getType()) != TypeKind::Object) return ir::kNoPlace;
      const ir::PlaceId object = destination(*list, list->getType());
      results_[expression] = {value(object), object};
      initialize_parts(object, *list);
      return object;
    }
    default:
      return ir::kNoPlace;
  }
}

ir::PlaceId Body::target_of(const clang::Expr* pointer) {
  const clang::Expr* at = strip(pointer);
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary && unary->getOpcode() == clang::UO_AddrOf)
    return place(unary->getSubExpr());
  const Operand out = operand(at);
  clang::QualType type = at->getType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) {
    // The array itself: its first element.
    return out.kind == Operand::Kind::Address ? element(out.place, number(0), array->getElementType()) : ir::kNoPlace;
  }
  type = type->isPointerType() ? type->getPointeeType() : clang::QualType();
  if (type.isNull()) return ir::kNoPlace;
  return pointee(out, type);
}

ir::PlaceId Body::destination(const clang::Expr& expression, clang::QualType type) {
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
        if (definition_.getReturnType()->isReferenceType() || kind(definition_.getReturnType()) == TypeKind::Other)
          break;
        if (result_ == ir::kNoPlace)
          result_ = typed(new_local("$result", kind(definition_.getReturnType())), definition_.getReturnType());
        return result_;
      case Destination::Kind::New:
        if (const auto made = allocated_.find(static_cast<const clang::CXXNewExpr*>(to.of)); made != allocated_.end())
          return pointee(value(made->second), static_cast<const clang::CXXNewExpr*>(to.of)->getAllocatedType());
        break;
    }
  }
  return object_temporary(type);
}

}  // namespace streamsan::analyzer::host
