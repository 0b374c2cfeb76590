// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices that are next to each other. See device_dense.h.
#include "analyzer/lowering/device_dense.h"

#include <algorithm>

#include "analyzer/lowering/device_bounds.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr unsigned kDeepestDense = 8;  ///< functions, and variables

/// Of an integer that grows in steps of 1: a loop's counter.
bool counts_up(const clang::Stmt* statement, const clang::ValueDecl& variable) {
  if (statement == nullptr) return false;
  const auto* unary = dyn_cast<clang::UnaryOperator>(statement);
  const auto* name = unary == nullptr || !unary->isIncrementDecrementOp()
                         ? nullptr
                         : dyn_cast<clang::DeclRefExpr>(unary->getSubExpr()->IgnoreParens());
  return (name != nullptr && name->getDecl() == &variable) ||
         std::ranges::any_of(statement->children(),
                             [&](const clang::Stmt* child) { return counts_up(child, variable); });
}

class Dense {
 public:
  explicit Dense(const clang::FunctionDecl& function, unsigned deep) : function_(function), deep_(deep) {}

  /// Some access behind `pointer` is to all elements.
  [[nodiscard]] bool touches(const clang::Stmt* statement, const clang::ValueDecl& pointer) const {
    if (statement == nullptr) return false;
    if (const auto* branch = dyn_cast<clang::IfStmt>(statement); branch != nullptr && chooses(branch->getCond()))
      return false;
    const auto is_it = [&](const clang::Expr* expression) {
      const auto* name = dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
      return name != nullptr && (name->getDecl() == &pointer || is_alias(*name->getDecl(), pointer, 0));
    };
    if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(statement);
        element != nullptr && is_it(element->getBase()) && index(element->getIdx(), 0))
      return true;
    if (const auto* sum = dyn_cast<clang::BinaryOperator>(statement);
        sum != nullptr && sum->getOpcode() == clang::BO_Add && sum->getType()->isPointerType() &&
        ((is_it(sum->getLHS()) && index(sum->getRHS(), 0)) || (is_it(sum->getRHS()) && index(sum->getLHS(), 0))))
      return true;
    const auto* call = dyn_cast<clang::CallExpr>(statement);
    const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
    const clang::FunctionDecl* body = nullptr;
    if (callee != nullptr && deep_ < kDeepestDense && callee->hasBody(body) && !isa<clang::CXXOperatorCallExpr>(call))
      for (unsigned i = 0; i < std::min(call->getNumArgs(), body->getNumParams()); ++i)
        if (is_it(call->getArg(i)) && Dense(*body, deep_ + 1).touches(body->getBody(), *body->getParamDecl(i)))
          return true;
    return std::ranges::any_of(statement->children(),
                               [&](const clang::Stmt* child) { return touches(child, pointer); });
  }

  /// By remainders or bits it leaves some threads out, in between.
  static bool chooses(const clang::Stmt* condition) {
    if (condition == nullptr) return false;
    const auto* binary = dyn_cast<clang::BinaryOperator>(condition);
    if (binary != nullptr &&
        (binary->getOpcode() == clang::BO_Rem || binary->getOpcode() == clang::BO_And || binary->isEqualityOp()))
      return true;
    return std::ranges::any_of(condition->children(), chooses);
  }

 private:
  [[nodiscard]] bool is_alias(const clang::ValueDecl& local, const clang::ValueDecl& of, unsigned deep) const {
    const auto* variable = dyn_cast<clang::VarDecl>(&local);
    if (variable == nullptr || deep > kDeepestDense || isa<clang::ParmVarDecl>(variable) || !variable->hasInit() ||
        !variable->getType()->isPointerType() || of.getType()->getPointeeType().isNull() ||
        variable->getASTContext().getTypeSize(variable->getType()->getPointeeType()) <
            variable->getASTContext().getTypeSize(of.getType()->getPointeeType()))
      return false;
    const auto* name = dyn_cast<clang::DeclRefExpr>(variable->getInit()->IgnoreParenCasts());
    return name != nullptr && (name->getDecl() == &of || is_alias(*name->getDecl(), of, deep + 1));
  }

  [[nodiscard]] bool index(const clang::Expr* expression, unsigned deep) const {
    if (expression == nullptr || deep > kDeepestDense) return false;
    expression = expression->IgnoreParenCasts();
    if (const auto* full = dyn_cast<clang::FullExpr>(expression)) return index(full->getSubExpr(), deep + 1);
    if (const auto* pseudo = dyn_cast<clang::PseudoObjectExpr>(expression)) {
      const auto component = component_of(*pseudo);
      return component && is_index(*component);
    }
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(expression)) {
      const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl());
      if (variable == nullptr) return false;
      if (isa<clang::ParmVarDecl>(variable)) return deep_ != 0;  // it is what it is called with
      return index(variable->getInit(), deep + 1) || counts_up(function_.getBody(), *variable);
    }
    if (const auto* call = dyn_cast<clang::CallExpr>(expression))
      return call->getNumArgs() == 0 || std::ranges::any_of(call->arguments(), [&](const clang::Expr* argument) {
               return index(argument, deep + 1);
             });
    const auto* binary = dyn_cast<clang::BinaryOperator>(expression);
    return binary != nullptr && binary->isAdditiveOp() &&
           (index(binary->getLHS(), deep + 1) || index(binary->getRHS(), deep + 1));
  }

  const clang::FunctionDecl& function_;
  const unsigned deep_;
};

/// Threads are left out by the way.
bool leaves_out(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  const auto* branch = dyn_cast<clang::IfStmt>(statement);
  const bool leaves = branch != nullptr && Dense::chooses(branch->getCond()) &&
                      isa<clang::ReturnStmt, clang::ContinueStmt>(branch->getThen());
  return leaves || std::ranges::any_of(statement->children(), leaves_out);
}

}  // namespace

bool is_dense(const clang::FunctionDecl& kernel, const clang::ParmVarDecl& pointer) {
  const clang::FunctionDecl* definition = nullptr;
  if (!kernel.hasBody(definition) || definition->isDependentContext()) return false;
  const unsigned position = pointer.getFunctionScopeIndex();
  return position < definition->getNumParams() && !leaves_out(definition->getBody()) &&
         Dense(*definition, 0).touches(definition->getBody(), *definition->getParamDecl(position));
}

}  // namespace streamsan::analyzer::device
