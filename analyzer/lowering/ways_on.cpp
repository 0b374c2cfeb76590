// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements that leave and conditions that check; see ways_on.h.
#include "analyzer/lowering/ways_on.h"

#include <algorithm>
#include <set>

#include "analyzer/lowering/called_model.h"
#include "analyzer/models/model.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::isa;

bool is_error_type(clang::QualType type) {
  static const std::set<llvm::StringRef> kErrors = {"cudaError", "cudaError_enum", "hipError_t"};
  const auto* kind = type.getCanonicalType().getNonReferenceType()->getAs<clang::EnumType>();
  return kind != nullptr && kErrors.contains(kind->getDecl()->getName());
}

/// That work is not done yet is no failure: of cudaStreamQuery and cudaEventQuery.
bool is_query(const clang::Expr& result, const Models& models) {
  const auto* call = dyn_cast<clang::CallExpr>(&result);
  const Model* model = call == nullptr ? nullptr : called_model(models, *call);
  return model != nullptr &&
         (model->effect.kind == api::EffectKind::QueryStream || model->effect.kind == api::EffectKind::QueryEvent);
}

/// The initial value of a local variable, if `expression` is one.
const clang::Expr* initial_value(const clang::Expr& expression) {
  const auto* name = dyn_cast<clang::DeclRefExpr>(&expression);
  const auto* variable = name == nullptr ? nullptr : dyn_cast<clang::VarDecl>(name->getDecl());
  return variable != nullptr && variable->isLocalVarDecl() && variable->hasInit()
             ? variable->getInit()->IgnoreParenCasts()
             : nullptr;
}

/// What a call of CUDA returned, or a variable that is to hold it.
bool is_result(const clang::Expr& expression, const Models& models) {
  if (const clang::Expr* initial = initial_value(expression)) {
    if (is_query(*initial, models)) return false;
    const bool counts = expression.getType()->isIntegerType() && !expression.getType()->isBooleanType();
    if (counts && isa<clang::CallExpr>(initial) && is_error_type(initial->getType())) return true;
  }
  return is_error_type(expression.getType()) && !is_query(expression, models);
}

bool is_zero(const clang::Expr& expression) {
  if (const auto* number = dyn_cast<clang::IntegerLiteral>(&expression)) return number->getValue() == 0;
  const auto* name = dyn_cast<clang::DeclRefExpr>(&expression);
  const auto* constant = name == nullptr ? nullptr : dyn_cast<clang::EnumConstantDecl>(name->getDecl());
  return constant != nullptr && constant->getInitVal().isZero();
}

std::optional<bool> compares(const clang::BinaryOperator& comparison, const Models& models) {
  if (comparison.isLogicalOp()) {
    // `a && b` of two successes, `a || b` of two failures.
    const bool all = comparison.getOpcode() == clang::BO_LAnd;
    const bool success =
        tells_success(*comparison.getLHS(), models) == all && tells_success(*comparison.getRHS(), models) == all;
    return success ? std::optional(all) : std::nullopt;
  }
  if (!comparison.isEqualityOp()) return std::nullopt;
  const clang::Expr& left = *comparison.getLHS()->IgnoreParenImpCasts();
  const clang::Expr& right = *comparison.getRHS()->IgnoreParenImpCasts();
  const bool asked = (is_zero(right) && is_result(left, models)) || (is_zero(left) && is_result(right, models));
  return asked ? std::optional(comparison.getOpcode() == clang::BO_EQ) : std::nullopt;
}

}  // namespace

std::optional<Leaving> leaves(const clang::Stmt* statement) {
  if (statement == nullptr) return std::nullopt;
  if (const auto* block = dyn_cast<clang::CompoundStmt>(statement)) {
    for (const clang::Stmt* inner : block->body()) {
      if (const auto left = leaves(inner)) return left;
    }
    return std::nullopt;
  }
  if (const auto* choice = dyn_cast<clang::IfStmt>(statement)) {
    const auto one = leaves(choice->getThen()), other = leaves(choice->getElse());
    return one && other ? std::optional(std::min(*one, *other)) : std::nullopt;
  }
  if (const auto* label = dyn_cast<clang::LabelStmt>(statement)) return leaves(label->getSubStmt());
  if (const auto* attributed = dyn_cast<clang::AttributedStmt>(statement)) return leaves(attributed->getSubStmt());
  if (const auto* once = dyn_cast<clang::DoStmt>(statement)) {
    const auto left = leaves(once->getBody());
    return left == Leaving::Break || left == Leaving::Continue ? std::nullopt : left;
  }
  if (isa<clang::BreakStmt>(statement)) return Leaving::Break;
  if (isa<clang::ContinueStmt>(statement)) return Leaving::Continue;
  if (isa<clang::ReturnStmt, clang::GotoStmt, clang::IndirectGotoStmt>(statement)) return Leaving::Function;
  const auto* expression = dyn_cast<clang::Expr>(statement);
  if (expression == nullptr) return std::nullopt;
  expression = expression->IgnoreParenCasts();
  if (isa<clang::CXXThrowExpr>(expression)) return Leaving::Throw;
  const auto* call = dyn_cast<clang::CallExpr>(expression);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  return callee != nullptr && callee->isNoReturn() ? std::optional(Leaving::Program) : std::nullopt;
}

bool case_leaves(const clang::Stmt* statement) {
  if (const auto* label = dyn_cast<clang::SwitchCase>(statement)) return case_leaves(label->getSubStmt());
  if (const auto* block = dyn_cast<clang::CompoundStmt>(statement))
    return std::ranges::any_of(block->body(), case_leaves);
  const auto left = leaves(statement);
  return left && *left != Leaving::Break && *left != Leaving::Program;
}

std::optional<bool> tells_success(const clang::Expr& condition, const Models& models) {
  const clang::Expr& plain = *condition.IgnoreParenImpCasts();
  if (const auto* negated = dyn_cast<clang::UnaryOperator>(&plain); negated && negated->getOpcode() == clang::UO_LNot) {
    const auto success = tells_success(*negated->getSubExpr(), models);
    return success ? std::optional(!*success) : std::nullopt;
  }
  if (const auto* comparison = dyn_cast<clang::BinaryOperator>(&plain);
      comparison != nullptr && !comparison->isAssignmentOp()) {
    return compares(*comparison, models);
  }
  if (is_result(plain, models)) return false;
  if (const auto* call = dyn_cast<clang::CallExpr>(&plain)) {
    // __builtin_expect(condition, 0), and the user's own `bool succeeded(cudaStreamCreate(&s_))`.
    if (call->getBuiltinCallee() != 0 && call->getNumArgs() == 2) return tells_success(*call->getArg(0), models);
    const bool asks = std::ranges::any_of(call->arguments(), [&models](const clang::Expr* argument) {
      return is_result(*argument->IgnoreParenImpCasts(), models);
    });
    return asks && call->getType()->isBooleanType() ? std::optional(true) : std::nullopt;
  }
  const clang::Expr* initial = initial_value(plain);
  return initial != nullptr && plain.getType().isConstQualified() ? tells_success(*initial, models) : std::nullopt;
}

const clang::Expr* asked_result(const clang::Expr& condition, const Models& models) {
  const clang::Expr& plain = *condition.IgnoreParenCasts();
  if (const auto* negated = dyn_cast<clang::UnaryOperator>(&plain); negated && negated->getOpcode() == clang::UO_LNot)
    return asked_result(*negated->getSubExpr(), models);
  if (const auto* two = dyn_cast<clang::BinaryOperator>(&plain)) {
    if (two->getOpcode() == clang::BO_Assign) return asked_result(*two->getRHS(), models);
    if (!two->isEqualityOp()) return nullptr;
    const bool first = is_zero(*two->getRHS()->IgnoreParenImpCasts());
    return asked_result(first ? *two->getLHS() : *two->getRHS(), models);
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(&plain)) {
    if (call->getBuiltinCallee() != 0 && call->getNumArgs() == 2) return asked_result(*call->getArg(0), models);
    return is_result(plain, models) ? &plain : nullptr;
  }
  const clang::Expr* initial = initial_value(plain);
  if (initial != nullptr && plain.getType()->isBooleanType() && plain.getType().isConstQualified())
    return asked_result(*initial, models);
  return isa<clang::DeclRefExpr>(plain) ? &plain : nullptr;
}

}  // namespace streamsan::analyzer
