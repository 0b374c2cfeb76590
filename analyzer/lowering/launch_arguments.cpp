// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of variables behind casts and copies, and what parameters are given. See launch_arguments.h.
#include "analyzer/lowering/launch_arguments.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

const clang::Expr* plain(const clang::Expr* expression) {
  while (expression != nullptr) {
    const clang::Expr* inner = expression->IgnoreParenCasts()->IgnoreImplicit();
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(inner);
        unary != nullptr && (unary->getOpcode() == clang::UO_AddrOf || unary->getOpcode() == clang::UO_Deref)) {
      inner = unary->getSubExpr();
    } else if (const auto* call = dyn_cast<clang::CallExpr>(inner); call != nullptr && call->getNumArgs() == 1 &&
                                                                    call->getDirectCallee() != nullptr &&
                                                                    call->getDirectCallee()->isInStdNamespace()) {
      inner = call->getArg(0);  // std::forward, std::move, std::addressof
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(inner);
               made != nullptr && made->getNumArgs() == 1) {
      inner = made->getArg(0);
    }
    if (inner == expression) return expression;
    expression = inner;
  }
  return nullptr;
}

const clang::ValueDecl* root(const clang::Expr* expression) {
  for (const clang::Expr* at = plain(expression); at != nullptr;) {
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(at)) return reference->getDecl();
    if (const auto* member = dyn_cast<clang::MemberExpr>(at)) {
      const clang::Expr* base = plain(member->getBase());
      if (llvm::isa<clang::CXXThisExpr>(base)) return member->getMemberDecl();
      at = base;
    } else if (const auto* subscript = dyn_cast<clang::ArraySubscriptExpr>(at)) {
      at = plain(subscript->getBase());
    } else if (const auto* operation = dyn_cast<clang::CXXOperatorCallExpr>(at)) {
      at = operation->getNumArgs() == 0 ? nullptr : plain(operation->getArg(0));
    } else if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(at)) {
      at = plain(call->getImplicitObjectArgument());
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

const clang::Expr* HelperCaller::given(const clang::Expr* parameter) const {
  const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(plain(parameter));
  const auto* declared = reference == nullptr ? nullptr : dyn_cast<clang::ParmVarDecl>(reference->getDecl());
  if (helper == nullptr || declared == nullptr) return nullptr;
  const unsigned at = declared->getFunctionScopeIndex();
  if (at >= arguments.size() || at >= helper->getNumParams() || helper->getParamDecl(at) != declared) return nullptr;
  return arguments[at];
}

const clang::Expr* HelperCaller::given_part(const clang::MemberExpr& part) const {
  const auto* field = dyn_cast<clang::FieldDecl>(part.getMemberDecl());
  const clang::Expr* whole = plain(given(part.getBase()));
  if (const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(whole)) {
    const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
    const bool constant = variable != nullptr && variable->getType().isConstQualified() && variable->hasInit();
    whole = constant ? plain(variable->getInit()) : nullptr;
  }
  const auto* list = dyn_cast_or_null<clang::InitListExpr>(whole);
  if (list == nullptr || field == nullptr || list->getType()->getAsRecordDecl() != field->getParent() ||
      field->getParent()->isUnion())
    return nullptr;
  const clang::InitListExpr& all =
      list->isSemanticForm() || list->getSemanticForm() == nullptr ? *list : *list->getSemanticForm();
  return field->getFieldIndex() < all.getNumInits() ? all.getInit(field->getFieldIndex()) : nullptr;
}

}  // namespace streamsan::analyzer::host
