// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the head of a loop counts from and to.
//
// Known of `for` loops whose head says what a variable starts at, how it is stepped and up to where, and of range-for
// loops. Nothing else in the loop may write the variable, nor what it starts at or is compared with.
#include "analyzer/lowering/host_counting.h"

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/ir/polynomial.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_source.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {

namespace {

/// Nothing in it but numbers and variables that are followed.
bool understood(const ir::Function& function, ir::ExprId expr) {
  if (expr == ir::kNoExpr) return false;
  return ir::Polynomial::parse(
             ir::numbered(function, function[expr]),
             [](std::string_view word) { return word.starts_with('$') ? std::string(word) : std::string(); })
      .has_value();
}

bool names(const clang::Expr* expression, const clang::VarDecl& variable) {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
  return name != nullptr && name->getDecl() == &variable;
}

template <typename Use>
bool all_parts(const clang::Expr* expression, Use use) {
  const auto* both = llvm::dyn_cast<clang::BinaryOperator>(expression->IgnoreParens());
  if (both != nullptr && both->isCommaOp()) return all_parts(both->getLHS(), use) && all_parts(both->getRHS(), use);
  if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(expression))
    return all_parts(cleanups->getSubExpr(), use);
  return use(expression->IgnoreParens());
}

/// What the head of a `for` sets `variable` to.
const clang::Expr* start_of(const clang::ForStmt& loop, const clang::VarDecl& variable) {
  const clang::Stmt* init = loop.getInit();
  if (const auto* declarations = llvm::dyn_cast_or_null<clang::DeclStmt>(init))
    return llvm::is_contained(declarations->decls(), &variable) ? variable.getInit() : nullptr;
  const auto* expression = llvm::dyn_cast_or_null<clang::Expr>(init);
  if (expression == nullptr) return nullptr;
  const clang::Expr* start = nullptr;
  // `i = a, a = b`: what one reads another may write.
  int assignments = 0, constants = 0;
  const bool plain = all_parts(expression, [&](const clang::Expr* part) {
    const auto* assigns = llvm::dyn_cast<clang::BinaryOperator>(part);
    if (assigns == nullptr || assigns->getOpcode() != clang::BO_Assign) return false;
    if (names(assigns->getLHS(), variable)) start = assigns->getRHS();
    constants += assigns->getRHS()->isEvaluatable(variable.getASTContext()) ? 1 : 0;
    ++assignments;
    return true;
  });
  return plain && (assignments == 1 || assignments == constants) ? start : nullptr;
}

/// By how much the head of a `for` steps `variable`; 0: not known.
std::int64_t step_of(const clang::ForStmt& loop, const clang::VarDecl& variable) {
  std::int64_t step = 0;
  if (loop.getInc() == nullptr) return 0;
  all_parts(loop.getInc(), [&](const clang::Expr* part) {
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(part)) {
      if (unary->isIncrementDecrementOp() && names(unary->getSubExpr(), variable))
        step = unary->isIncrementOp() ? 1 : -1;
    } else if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(part)) {
      const bool up = call->getOperator() == clang::OO_PlusPlus, down = call->getOperator() == clang::OO_MinusMinus;
      if ((up || down) && names(call->getArg(0), variable)) step = up ? 1 : -1;
    } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(part)) {
      const bool up = binary->getOpcode() == clang::BO_AddAssign, down = binary->getOpcode() == clang::BO_SubAssign;
      clang::Expr::EvalResult by;
      if ((up || down) && names(binary->getLHS(), variable) &&
          binary->getRHS()->EvaluateAsInt(by, variable.getASTContext()) && by.Val.getInt().isRepresentableByInt64())
        step = up ? by.Val.getInt().getExtValue() : -by.Val.getInt().getExtValue();
    }
    return true;
  });
  return step;
}

}  // namespace

/// i < n, n > i, i <= n, i != n: up to where.
ir::ExprId Counting::last(const clang::ForStmt& loop, const clang::VarDecl& variable, bool grows) {
  const auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(loop.getCond());
  if (condition == nullptr) return ir::kNoExpr;
  const bool turned = !names(condition->getLHS(), variable);
  if (turned && !names(condition->getRHS(), variable)) return ir::kNoExpr;
  clang::BinaryOperatorKind compares = condition->getOpcode();
  if (turned && condition->isRelationalOp()) compares = clang::BinaryOperator::reverseComparisonOp(compares);
  const bool strict = compares == clang::BO_NE || compares == (grows ? clang::BO_LT : clang::BO_GT);
  if (!strict && compares != (grows ? clang::BO_LE : clang::BO_GE)) return ir::kNoExpr;
  const ir::ExprId bound = source_.expr(turned ? *condition->getLHS() : *condition->getRHS());
  return strict ? numbers_.sum(bound, numbers_.number(grows ? -1 : 1)) : bound;
}

Counted Counting::counted(ir::PlaceId variable, const Loop& loop) {
  const auto written = loop.writes.find(static_cast<std::uint32_t>(variable));
  if (written == loop.writes.end() || written->second != 1) return {};
  const clang::VarDecl* declaration = source_.variable(variable);
  if (declaration == nullptr || !source_.only_counted(*declaration)) return {};
  const std::optional<ir::ExprId> begin = source_.first_index(variable);
  if (const auto* ranged = llvm::dyn_cast_or_null<clang::CXXForRangeStmt>(loop.statement)) {
    const bool own = begin && ranged->getBeginStmt()->getSingleDecl() == declaration;
    return own ? Counted{.first = *begin, .grows = true, .by_one = true} : Counted{};
  }
  const auto* statement = llvm::dyn_cast_or_null<clang::ForStmt>(loop.statement);
  if (statement == nullptr) return {};
  const clang::Expr* start = start_of(*statement, *declaration);
  const std::int64_t step = step_of(*statement, *declaration);
  if (start == nullptr || step == 0) return {};
  Counted result{.grows = step > 0, .by_one = step == 1 || step == -1};
  if (begin) {
    result.first = *begin;
  } else if (function_[variable].type == ir::TypeKind::Integer) {
    result.first = source_.expr(*start);
  }
  if (result.first == ir::kNoExpr || varies(function_, result.first, loop)) return {};
  if (!begin) result.last = last(*statement, *declaration, result.grows);
  if (varies(function_, result.last, loop)) result.last = ir::kNoExpr;
  return result;
}

bool Counting::begins_in_all_rounds(const Loop& inner, const Loop& outer) {
  const auto* statement = llvm::dyn_cast_or_null<clang::ForStmt>(inner.statement);
  const auto* condition =
      statement == nullptr ? nullptr : llvm::dyn_cast_or_null<clang::BinaryOperator>(statement->getCond());
  if (condition == nullptr) return false;
  for (const clang::Expr* side : {condition->getLHS(), condition->getRHS()}) {
    const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(side->IgnoreParenImpCasts());
    const ir::PlaceId variable = name == nullptr ? ir::kNoPlace : source_.place(*name->getDecl());
    if (variable == ir::kNoPlace) continue;
    const Counted count = counted(variable, inner);
    if (understood(function_, count.first) && understood(function_, count.last))
      return !varies(function_, count.first, outer) && !varies(function_, count.last, outer);
  }
  return false;
}

}  // namespace streamsan::analyzer::host
