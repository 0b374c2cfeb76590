// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions of device code: which place one names, where a pointer points, and what depends on memory.
//
// place() is asked of glvalues and of objects, value() of pointers and of integers that may carry an address. Casts,
// offsets and indices change nothing: a Path knows no elements.
#include <algorithm>

#include "analyzer/lowering/device_body.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Type.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

/// What wraps an expression without meaning anything here; nullptr: `expression` is no wrapper.
const clang::Expr* inner(const clang::Expr* expression) {
  if (const auto* e = dyn_cast<clang::ParenExpr>(expression)) return e->getSubExpr();
  if (const auto* e = dyn_cast<clang::FullExpr>(expression)) return e->getSubExpr();
  if (const auto* e = dyn_cast<clang::CXXBindTemporaryExpr>(expression)) return e->getSubExpr();
  if (const auto* e = dyn_cast<clang::SubstNonTypeTemplateParmExpr>(expression)) return e->getReplacement();
  if (const auto* e = dyn_cast<clang::CXXDefaultArgExpr>(expression)) return e->getExpr();
  if (const auto* e = dyn_cast<clang::CXXDefaultInitExpr>(expression)) return e->getExpr();
  if (const auto* e = dyn_cast<clang::OpaqueValueExpr>(expression)) return e->getSourceExpr();
  if (const auto* e = dyn_cast<clang::PseudoObjectExpr>(expression)) return e->getResultExpr();
  if (const auto* e = dyn_cast<clang::GenericSelectionExpr>(expression)) return e->getResultExpr();
  if (const auto* e = dyn_cast<clang::ChooseExpr>(expression)) return e->getChosenSubExpr();
  return nullptr;
}

/// The pointer side of `p + i`, `i + p`, `p - i`.
const clang::Expr* pointer_side(const clang::BinaryOperator& sum) {
  return sum.getLHS()->getType()->isPointerType() ? sum.getLHS() : sum.getRHS();
}

/// The branch that a constant condition leaves, or nullptr.
const clang::Expr* only_branch(const clang::AbstractConditionalOperator& choice, const clang::ASTContext& context) {
  bool holds = false;
  const clang::Expr* condition = choice.getCond();
  if (condition->isValueDependent() || !condition->EvaluateAsBooleanCondition(holds, context)) return nullptr;
  return holds ? choice.getTrueExpr() : choice.getFalseExpr();
}

Paths both(Paths a, Paths b) {
  a.merge(b);
  return a;
}

}  // namespace

Paths Body::variable(const clang::ValueDecl& declaration, bool captured) const {
  if (captured) {
    if (const auto found = captures_.find(&declaration); found != captures_.end()) {
      const Paths field = step({Path{&kThis, {nullptr}}}, found->second);
      return found->second->getType()->isReferenceType() ? memory_.load(field) : field;
    }
  }
  if (const clang::VarDecl* shared = device_variable(declaration)) return {Path{shared, {nullptr}}};
  const Path own{&declaration, {}};
  if (declaration.getType()->isReferenceType()) return memory_.load({own}, memory_.is_parameter(own));
  return {own};
}

Paths Body::result(const clang::Expr& call) const {
  asked_.insert(&call);
  const auto found = results_.find(&call);
  return found == results_.end() ? Paths{} : found->second;
}

void Body::set_result(const clang::Expr& call, Paths places) {
  Paths& known = results_[&call];
  learned_ |= known != places && asked_.contains(&call);
  known = std::move(places);
}

Paths Body::place(const clang::Expr* expression) const {
  if (expression == nullptr) return {};
  if (const clang::Expr* e = inner(expression)) return place(e);
  if (const auto* e = dyn_cast<clang::MaterializeTemporaryExpr>(expression)) {
    const clang::Expr* temporary = e->getSubExpr();
    return temporary->getType()->isRecordType() ? place(temporary) : Paths{Path{e, {}}};
  }
  if (const auto* e = dyn_cast<clang::CastExpr>(expression)) return place(e->getSubExpr());
  if (const auto* e = dyn_cast<clang::DeclRefExpr>(expression)) {
    if (const auto* binding = dyn_cast<clang::BindingDecl>(e->getDecl())) return place(binding->getBinding());
    return variable(*e->getDecl(), e->refersToEnclosingVariableOrCapture());
  }
  if (const auto* e = dyn_cast<clang::MemberExpr>(expression)) {
    const auto* field = dyn_cast<clang::FieldDecl>(e->getMemberDecl());
    if (field == nullptr) return {Path{e->getMemberDecl(), {}}};
    const Paths member = step(e->isArrow() ? value(e->getBase()) : place(e->getBase()), field);
    return field->getType()->isReferenceType() ? memory_.load(member) : member;
  }
  if (const auto* e = dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    return e->getBase()->getType()->isVectorType() ? place(e->getBase()) : value(e->getBase());
  }
  if (const auto* e = dyn_cast<clang::UnaryOperator>(expression)) {
    return e->getOpcode() == clang::UO_Deref ? value(e->getSubExpr()) : place(e->getSubExpr());
  }
  if (const auto* e = dyn_cast<clang::BinaryOperator>(expression)) {
    return place(e->getOpcode() == clang::BO_Comma ? e->getRHS() : e->getLHS());
  }
  if (const auto* e = dyn_cast<clang::AbstractConditionalOperator>(expression)) {
    if (const clang::Expr* only = only_branch(*e, context_)) return place(only);
    return both(place(e->getTrueExpr()), place(e->getFalseExpr()));
  }
  if (const auto* e = dyn_cast<clang::CallExpr>(expression)) {
    return expression->isGLValue() ? result(*e) : Paths{Path{e, {}}};
  }
  if (const auto* e = dyn_cast<clang::CXXConstructExpr>(expression)) {
    const bool same = e->getConstructor()->isCopyOrMoveConstructor() && e->getNumArgs() != 0;
    return same ? place(e->getArg(0)) : Paths{Path{e, {}}};
  }
  if (expression->isPRValue() && expression->getType()->isRecordType()) return {Path{expression, {}}};
  if (isa<clang::CompoundLiteralExpr>(expression)) return {Path{expression, {}}};
  return {};
}

Paths Body::value(const clang::Expr* expression) const {
  if (expression == nullptr) return {};
  if (const clang::Expr* e = inner(expression)) return value(e);
  if (const auto* e = dyn_cast<clang::CastExpr>(expression)) {
    switch (e->getCastKind()) {
      case clang::CK_LValueToRValue:
        return memory_.load(place(e->getSubExpr()), e->getType()->isPointerType());
      case clang::CK_ArrayToPointerDecay:
        return place(e->getSubExpr());
      case clang::CK_FunctionToPointerDecay:
      case clang::CK_NullToPointer:
        return {};
      default:
        return value(e->getSubExpr());
    }
  }
  if (const auto* e = dyn_cast<clang::UnaryOperator>(expression)) {
    if (e->getOpcode() == clang::UO_AddrOf) return place(e->getSubExpr());
    if (e->isPostfix()) return memory_.load(place(e->getSubExpr()), e->getType()->isPointerType());
    return value(e->getSubExpr());
  }
  if (const auto* e = dyn_cast<clang::BinaryOperator>(expression)) {
    if (e->getOpcode() == clang::BO_Comma) return value(e->getRHS());
    if (e->isComparisonOp() || e->isLogicalOp() || e->isAssignmentOp()) return {};
    if (e->getType()->isPointerType()) return value(pointer_side(*e));
    return e->getLHS()->getType()->isPointerType() ? Paths{} : both(value(e->getLHS()), value(e->getRHS()));
  }
  if (const auto* e = dyn_cast<clang::AbstractConditionalOperator>(expression)) {
    if (const clang::Expr* only = only_branch(*e, context_)) return value(only);
    return both(value(e->getTrueExpr()), value(e->getFalseExpr()));
  }
  if (const auto* e = dyn_cast<clang::CallExpr>(expression)) return result(*e);
  if (isa<clang::CXXThisExpr>(expression)) {
    const Paths object{Path{&kThis, {nullptr}}};
    if (captured_this_ == nullptr) return object;
    const Paths field = step(object, captured_this_);
    return captured_this_->getType()->isPointerType() ? memory_.load(field) : field;
  }
  return {};
}

bool Body::is_data_variable(const void* base) const {
  const bool known = data_variables_.contains(base);
  if (!known) asked_.insert(base);
  return known;
}

void Body::note_data(const Paths& places) {
  for (const Path& path : places)
    if (path.depth() == 0) learned_ |= data_variables_.insert(path.base).second && asked_.contains(path.base);
}

bool Body::is_data(const Paths& places) const {
  return std::any_of(places.begin(), places.end(), [&](const Path& path) {
    if (!memory_.is_parameter(path)) return is_data_variable(path.base);
    // The object itself, behind `this` or a reference, need not lie in device memory.
    const auto* declaration = path.base == &kThis ? nullptr : static_cast<const clang::ValueDecl*>(path.base);
    const bool by_reference = declaration == nullptr || declaration->getType()->isReferenceType();
    return path.depth() > (by_reference ? 1U : 0U) || is_data_variable(path.base);
  });
}

bool Body::on_data(const clang::Expr* expression) const {
  if (expression == nullptr || isa<clang::UnaryExprOrTypeTraitExpr>(expression)) return false;
  if (const auto* e = dyn_cast<clang::CastExpr>(expression); e && e->getCastKind() == clang::CK_LValueToRValue) {
    if (is_data(place(e->getSubExpr()))) return true;
  }
  if (const auto* e = dyn_cast<clang::CallExpr>(expression); e && e->getType()->isArithmeticType()) {
    for (const clang::Expr* argument : e->arguments()) {
      if (argument->getType()->isPointerType() && is_data(value(argument))) return true;
      // By reference: tile.shfl(index, lane).
      if (argument->isGLValue() && argument->getType()->isArithmeticType() && is_data(place(argument))) return true;
    }
  }
  if (const auto* e = dyn_cast<clang::PseudoObjectExpr>(expression)) return on_data(e->getResultExpr());
  if (const auto* e = dyn_cast<clang::OpaqueValueExpr>(expression)) return on_data(e->getSourceExpr());
  return std::any_of(expression->child_begin(), expression->child_end(), [&](const clang::Stmt* child) {
    const auto* e = clang::dyn_cast_or_null<clang::Expr>(child);
    return e != nullptr && on_data(e);
  });
}

void Body::note_deciders(const clang::Expr* expression) {
  if (expression == nullptr || isa<clang::UnaryExprOrTypeTraitExpr>(expression)) return;
  if (const auto* e = dyn_cast<clang::DeclRefExpr>(expression)) {
    if (isa<clang::VarDecl>(e->getDecl())) note_decider(e->getDecl());
    return;
  }
  if (const clang::Expr* e = inner(expression)) return note_deciders(e);
  for (const clang::Stmt* child : expression->children()) note_deciders(clang::dyn_cast_or_null<clang::Expr>(child));
}

/// At once with what its values so far hang on: rounds for these alone would each find one variable more. Not by
/// recursion, as generated code has chains of thousands.
void Body::note_decider(const void* variable) {
  if (!deciders_.insert(variable).second) return;
  new_deciders_.push_back(variable);
  if (new_deciders_.size() > 1) return;  // a caller of this goes on with it
  for (std::size_t i = 0; i < new_deciders_.size(); ++i) {
    const auto found = given_.find(new_deciders_[i]);
    if (found == given_.end()) continue;
    for (const clang::Expr* value : found->second) note_deciders(value);
  }
  new_deciders_.clear();
}

bool Body::decides(const clang::Expr* condition_or_index) {
  note_deciders(condition_or_index);
  return on_data(condition_or_index);
}

bool Body::decides_address(const clang::Expr* expression) {
  if (const clang::Expr* e = inner(expression)) return decides_address(e);
  if (const auto* e = dyn_cast<clang::CastExpr>(expression)) {
    if (e->getCastKind() != clang::CK_LValueToRValue) return decides_address(e->getSubExpr());
    note_deciders(e->getSubExpr());
    const Paths pointers = place(e->getSubExpr());
    const bool from_memory =
        std::any_of(pointers.begin(), pointers.end(), [&](const Path& path) { return is_data_variable(path.base); });
    return decides_address(e->getSubExpr()) || from_memory;
  }
  if (const auto* e = dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    const bool index = decides(e->getIdx());
    return decides_address(e->getBase()) || index;
  }
  if (const auto* e = dyn_cast<clang::UnaryOperator>(expression)) return decides_address(e->getSubExpr());
  if (const auto* e = dyn_cast<clang::MemberExpr>(expression)) return decides_address(e->getBase());
  if (const auto* e = dyn_cast<clang::BinaryOperator>(expression); e && e->isAdditiveOp()) {
    const clang::Expr* pointer = pointer_side(*e);
    const bool offset = decides(pointer == e->getLHS() ? e->getRHS() : e->getLHS());
    return decides_address(pointer) || offset;
  }
  return false;
}

}  // namespace streamsan::analyzer::device
