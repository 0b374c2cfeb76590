// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the first thread of the first block gets to where an index is looked at. See device_bounds.h.
//
// Its indices are 0, and it is taken to be below every limit that is no small number (`i < n`). A condition that it may
// fail is kept as a guard: an index that is made of the same numbers as the condition need not be 0 for any thread that
// passes. One that is made of others (`if (threadIdx.y == 3) p[threadIdx.x]`) has its 0 all the same, and so has one
// whose own variable the condition is about, for that one's bound says what the condition does. What a launch gives
// alike to all threads decides whether there is work, not where.
//
// Errs to say that it is not known.
#include <algorithm>

#include "analyzer/lowering/device_bounds.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr unsigned kDeepestRoot = 40;  ///< of expressions in expressions, through variables

/// Whether there is memory at all behind a parameter: all threads have the same.
bool is_null_test(const clang::Expr* condition) {
  condition = condition->IgnoreParenImpCasts();
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(condition); unary && unary->getOpcode() == clang::UO_LNot)
    return is_null_test(unary->getSubExpr());
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(condition); binary && binary->isEqualityOp()) {
    const auto is_null = [](const clang::Expr* side) {
      const auto* cast = dyn_cast<clang::CastExpr>(side->IgnoreParens());
      return cast != nullptr && cast->getCastKind() == clang::CK_NullToPointer;
    };
    return (is_null(binary->getLHS()) && is_null_test(binary->getRHS())) ||
           (is_null(binary->getRHS()) && is_null_test(binary->getLHS()));
  }
  const auto* name = dyn_cast<clang::DeclRefExpr>(condition);
  return name != nullptr && isa<clang::ParmVarDecl>(name->getDecl()) && name->getType()->isPointerType();
}

/// Made of parameters, parts of the object and constants alone: `shape.cells()` says nothing that its operands do not.
bool is_of_operands(const clang::Stmt* statement, unsigned deep);

bool returns_of_operands(const clang::CallExpr& call, unsigned deep) {
  constexpr unsigned kMostCalls = 3;
  const clang::FunctionDecl* definition = nullptr;
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (deep > kMostCalls || callee == nullptr || callee->getBody(definition) == nullptr) return false;
  const auto* body = dyn_cast<clang::CompoundStmt>(definition->getBody());
  const auto* back = body == nullptr || body->size() != 1 ? nullptr : dyn_cast<clang::ReturnStmt>(body->body_front());
  return back != nullptr && back->getRetValue() != nullptr && is_of_operands(back->getRetValue(), deep + 1);
}

bool is_of_operands(const clang::Stmt* statement, unsigned deep) {
  if (const auto* call = dyn_cast<clang::CallExpr>(statement); call != nullptr && !returns_of_operands(*call, deep))
    return false;
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(statement)) {
    const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl());
    return variable == nullptr || variable->isConstexpr() ||
           (isa<clang::ParmVarDecl>(variable) && !variable->getType()->isPointerType());
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(statement);
      member != nullptr && member->getType()->isPointerType())
    return false;
  const auto* unary = dyn_cast<clang::UnaryOperator>(statement);
  if (isa<clang::PseudoObjectExpr, clang::ArraySubscriptExpr>(statement) ||
      (unary != nullptr && (unary->getOpcode() == clang::UO_Deref || unary->isIncrementDecrementOp())))
    return false;
  return std::all_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return child == nullptr || is_of_operands(child, deep); });
}

}  // namespace

void Bounds::collect(const clang::Stmt* statement, Roots& out, unsigned deep, Within within) const {
  if (statement == nullptr) return;
  if (deep > kDeepestRoot) {
    out.indices.emplace(nullptr, "");
    return;
  }
  if (isa<clang::PseudoObjectExpr>(statement)) {
    const std::optional<Variable> named = variable(dyn_cast<clang::Expr>(statement));
    if (!named || is_index(*named)) out.indices.insert(named.value_or(Variable{}));
    return;
  }
  // Which number a call returns depends on its arguments, and on what it asks itself.
  if (const auto* call = dyn_cast<clang::CallExpr>(statement); call != nullptr && !returns_of_operands(*call, 0))
    out.indices.emplace(nullptr, "");
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(statement)) {
    const auto* named = dyn_cast<clang::VarDecl>(reference->getDecl());
    if (named == nullptr || out.through.contains(named)) return;
    auto known = roots_.find(named);
    if (known == roots_.end() && within == Within::Variable) return collect_variable(*named, out, deep);
    if (known == roots_.end()) {
      Roots roots;
      collect_variable(*named, roots, 0);
      known = roots_.emplace(named, std::move(roots)).first;
    }
    out.indices.insert(known->second.indices.begin(), known->second.indices.end());
    out.through.insert(known->second.through.begin(), known->second.through.end());
    return;
  }
  for (const clang::Stmt* child : statement->children()) collect(child, out, deep + 1, within);
}

void Bounds::collect_variable(const clang::VarDecl& named, Roots& out, unsigned deep) const {
  out.through.insert(&named);
  if (isa<clang::ParmVarDecl>(named)) {
    const bool index = !function_.hasAttr<clang::CUDAGlobalAttr>() && !named.getType()->isPointerType();
    if (index) out.indices.emplace(&named, "");
  } else if (named.isLocalVarDecl()) {
    if (is_changed(named) || !named.hasInit()) out.indices.emplace(&named, "");
    collect(named.getInit(), out, deep + 1, Within::Variable);
  }
  for (const Change& change : changes_.of(named)) collect(change.value, out, deep + 1, Within::Variable);
}

bool Bounds::looked_up(const clang::Expr* expression, unsigned deep) const {
  if (deep > kDeepestRoot) return false;
  expression = expression->IgnoreParenCasts();
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(expression)) {
    const auto* local = dyn_cast<clang::VarDecl>(name->getDecl());
    return local != nullptr && local->isLocalVarDecl() && local->hasInit() && !is_changed(*local) &&
           looked_up(local->getInit(), deep + 1);
  }
  const auto* element = dyn_cast<clang::ArraySubscriptExpr>(expression);
  if (element == nullptr) return false;
  Roots roots;
  collect(element->getIdx(), roots);
  return !roots.indices.empty();
}

bool Bounds::is_nothing_for_first(const clang::Expr* expression) const {
  expression = expression->IgnoreParenCasts();
  if (const std::optional<Variable> named = variable(expression)) return is_index(*named);
  const auto* binary = dyn_cast<clang::BinaryOperator>(expression);
  if (binary == nullptr) return false;
  const bool left = is_nothing_for_first(binary->getLHS()), right = is_nothing_for_first(binary->getRHS());
  if (binary->getOpcode() == clang::BO_Mul) return left || right;
  return binary->getOpcode() == clang::BO_Add && left && right;
}

bool Bounds::first_passes(const clang::Expr* condition, bool holds) const {
  condition = condition->IgnoreParenImpCasts();
  bool known = false;
  if (condition->isValueDependent()) return false;
  if (condition->EvaluateAsBooleanCondition(known, context_)) return known == holds;
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(condition); unary && unary->getOpcode() == clang::UO_LNot)
    return first_passes(unary->getSubExpr(), !holds);
  const auto* binary = dyn_cast<clang::BinaryOperator>(condition);
  if (binary != nullptr && binary->isLogicalOp()) {
    const bool left = first_passes(binary->getLHS(), holds), right = first_passes(binary->getRHS(), holds);
    return (binary->getOpcode() == clang::BO_LAnd) == holds ? left && right : left || right;
  }
  const auto value = [this](const clang::Expr* of) {
    const MaybeBound bound = number(of);
    return bound ? bound->number : std::nullopt;
  };
  if (binary == nullptr || !binary->isComparisonOp() || binary->getOpcode() == clang::BO_Cmp) {
    const std::optional<std::int64_t> number = value(condition);
    return number && (*number != 0) == holds;
  }
  clang::BinaryOperatorKind op = binary->getOpcode();
  if (!holds) op = clang::BinaryOperator::negateComparisonOp(op);
  const bool swapped = op == clang::BO_GT || op == clang::BO_GE;
  if (swapped) op = clang::BinaryOperator::reverseComparisonOp(op);
  const clang::Expr* smaller = swapped ? binary->getRHS() : binary->getLHS();
  const clang::Expr* limit = swapped ? binary->getLHS() : binary->getRHS();
  const std::optional<std::int64_t> a = value(smaller), b = value(limit);
  switch (op) {
    case clang::BO_EQ:
      return a && b && *a == *b;
    case clang::BO_NE:
      return a && b && *a != *b;
    default:
      if (a && b) return op == clang::BO_LT ? *a < *b : *a <= *b;
  }
  const MaybeBound compared = number(smaller);
  if (!compared) return false;
  // `n < 5`, `n <= 1024`: which launches it is true of nobody knows.
  if (!a && b && !compared->loose) return false;
  // A size, alike for all threads. What a function is given for a limit is taken for one.
  const auto* given = dyn_cast<clang::DeclRefExpr>(limit->IgnoreParenCasts());
  if (given != nullptr && isa<clang::ParmVarDecl>(given->getDecl()) && !is_changed(*given->getDecl())) return true;
  Roots roots;
  collect(limit, roots);
  return roots.indices.empty();
}

void Bounds::guard(const clang::Expr* condition, bool holds, const std::optional<Variable>& variable) {
  if (condition == nullptr || first_passes(condition, holds)) return;
  Guard guard{.variable = variable};
  if (!is_null_test(condition)) collect(condition, guard.roots);
  if (guard.roots.indices.empty()) guard.choice.emplace(condition, holds);
  guards_.push_back(std::move(guard));
}

Choices Bounds::choices() const {
  Choices result;
  for (const Guard& guard : guards_)
    if (guard.choice) result.insert(*guard.choice);
  return result;
}

MaybeBound Bounds::reached(MaybeBound bound, const std::vector<const clang::Expr*>& made_of) const {
  if (!bound || guards_.empty()) return bound;
  const bool at_front = bound->number == 0 && !bound->single && !bound->fixed;
  if (!at_front && !bound->plain) return bound;
  Roots index;
  for (const clang::Expr* one : made_of) collect(one, index);
  const auto fails = [&](const Guard& guard) {
    if (guard.all) return true;
    if (guard.variable && (index.through.contains(guard.variable->first) || index.indices.contains(*guard.variable)))
      return false;
    return std::ranges::any_of(guard.roots.indices, [&](const Variable& of) { return index.indices.contains(of); });
  };
  if (std::ranges::none_of(guards_, fails)) return bound;
  // Of a parameter's bound remains that it is at least that.
  if (at_front) return std::nullopt;
  bound->plain = bound->loose = false;
  return bound;
}

}  // namespace streamsan::analyzer::device
