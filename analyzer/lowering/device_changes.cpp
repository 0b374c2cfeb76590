// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk that finds changes. See device_changes.h.
#include "analyzer/lowering/device_changes.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr unsigned kDeepestCall = 3;

/// The function that a lambda's body stands in, or itself.
const clang::FunctionDecl& around(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* outer = &function;
  for (;;) {
    const auto* method = dyn_cast<clang::CXXMethodDecl>(outer);
    if (method == nullptr || !method->getParent()->isLambda()) return *outer;
    const auto* next = dyn_cast<clang::FunctionDecl>(method->getParent()->getDeclContext());
    if (next == nullptr || !next->hasBody()) return *outer;
    outer = next;
  }
}

bool is_loop(const clang::Stmt* statement) {
  return isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(statement);
}

}  // namespace

Changes::Changes(const clang::FunctionDecl& definition, unsigned deep)
    : context_(definition.getASTContext()), body_(definition.getBody()), deep_(deep) {
  note(around(definition).getBody());
  if (!seen_) note(body_);  // of a generic lambda
}

const std::vector<Change>& Changes::of(const clang::ValueDecl& variable) const {
  static const std::vector<Change> kNone;
  const auto found = changes_.find(&variable);
  return found == changes_.end() ? kNone : found->second;
}

bool Changes::only_grows(const clang::ValueDecl& variable, const clang::Expr* since) const {
  const std::optional<unsigned> from = since == nullptr ? std::nullopt : position(since);
  return std::ranges::all_of(
      of(variable), [&](const Change& change) { return change.grows || (from && change.at < *from && !change.loop); });
}

std::optional<unsigned> Changes::position(const clang::Expr* name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? std::nullopt : std::optional(found->second);
}

void Changes::change(const clang::Expr* target, Change how) {
  const auto* name = dyn_cast<clang::DeclRefExpr>(target->IgnoreParenCasts());
  if (name == nullptr) return;
  const auto declared = declared_.find(name->getDecl());
  const Depth depth = declared == declared_.end() ? Depth{} : declared->second;
  how.at = ++now_;
  if (open_.size() > depth.loops) how.loop = open_[depth.loops];
  how.perhaps = conditions_ > depth.conditions;
  how.grows = how.grows && how.loop.has_value();
  changes_[name->getDecl()].push_back(how);
}

void Changes::note_under_condition(const clang::Stmt* statement) {
  ++conditions_;
  note(statement);
  --conditions_;
}

void Changes::note_loop(const clang::Stmt& loop) {
  const auto* counted = dyn_cast<clang::ForStmt>(&loop);
  if (counted != nullptr) note(counted->getInit());
  open_.push_back(loops_.size());
  loops_.push_back({.begin = ++now_, .end = 0});
  if (counted != nullptr) {
    note(counted->getConditionVariableDeclStmt());
    note(counted->getCond());
    note(counted->getBody());
    note(counted->getInc());
  } else {
    for (const clang::Stmt* child : loop.children()) note(child);
  }
  loops_[open_.back()].end = ++now_;
  open_.pop_back();
}

void Changes::note_call(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  const clang::FunctionDecl* body = nullptr;
  const bool known = callee != nullptr && deep_ < kDeepestCall && callee->hasBody(body) && !body->isDependentContext();
  std::optional<Changes> inside;
  const auto* method = clang::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  const unsigned first = isa<clang::CXXOperatorCallExpr>(call) && method != nullptr && !method->isStatic() ? 1 : 0;
  for (unsigned i = 0; i < call.getNumArgs(); ++i) {
    // Given by reference: an lvalue that is not read here.
    const clang::Expr* argument = call.getArg(i);
    if (!argument->isLValue() || argument->getType().isConstQualified()) continue;
    Change how{.kind = Change::Kind::Other};
    const bool pointer = argument->getType()->isPointerType() && isa<clang::DeclRefExpr>(argument->IgnoreParens());
    if (known && pointer && i >= first && i - first < body->getNumParams()) {
      if (!inside) inside.emplace(*body, deep_ + 1);
      const bool moves = inside->any(*body->getParamDecl(i - first));
      how.kind = moves ? Change::Kind::Moved : Change::Kind::Other;
    }
    change(argument, how);
  }
}

void Changes::note(const clang::Stmt* statement) {
  using Kind = Change::Kind;
  if (statement == nullptr) return;
  seen_ = seen_ || statement == body_;
  if (is_loop(statement)) return note_loop(*statement);
  if (const auto* branch = dyn_cast<clang::IfStmt>(statement)) {
    note(branch->getInit());
    note(branch->getConditionVariableDeclStmt());
    note(branch->getCond());
    note_under_condition(branch->getThen());
    return note_under_condition(branch->getElse());
  }
  if (const auto* choice = dyn_cast<clang::AbstractConditionalOperator>(statement)) {
    note(choice->getCond());
    note_under_condition(choice->getTrueExpr());
    return note_under_condition(choice->getFalseExpr());
  }
  const auto* binary = dyn_cast<clang::BinaryOperator>(statement);
  if (binary != nullptr && binary->isLogicalOp()) {
    note(binary->getLHS());
    return note_under_condition(binary->getRHS());
  }
  const bool aside = isa<clang::SwitchStmt, clang::LambdaExpr>(statement);
  if (aside) ++conditions_;
  for (const clang::Stmt* child : statement->children()) note(child);
  if (aside) --conditions_;
  if (isa<clang::DeclRefExpr>(statement)) {
    positions_[statement] = ++now_;
  } else if (binary != nullptr && binary->isAssignmentOp()) {
    const clang::BinaryOperatorKind op = binary->getOpcode();
    clang::Expr::EvalResult added;
    const bool back = !binary->getRHS()->isValueDependent() && binary->getRHS()->EvaluateAsInt(added, context_) &&
                      added.Val.getInt().isNegative();
    const bool up = op == clang::BO_AddAssign || op == clang::BO_MulAssign || op == clang::BO_ShlAssign;
    const Kind kind = op == clang::BO_Assign ? Kind::Set : op == clang::BO_AddAssign && !back ? Kind::Add : Kind::Other;
    change(binary->getLHS(), {.kind = kind, .value = binary->getRHS(), .grows = up && !back});
  } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(statement)) {
    if (unary->isIncrementDecrementOp())
      change(unary->getSubExpr(),
             {.kind = unary->isIncrementOp() ? Kind::Add : Kind::Other, .grows = unary->isIncrementOp()});
    if (unary->getOpcode() == clang::UO_AddrOf) change(unary->getSubExpr(), {});
  } else if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
    note_call(*call);
  } else if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declaration : declarations->decls())
      if (const auto* variable = dyn_cast<clang::VarDecl>(declaration)) {
        declared_.emplace(variable, Depth{open_.size(), conditions_});
        if (variable->hasInit() && variable->getType()->isReferenceType()) change(variable->getInit(), {});
      }
  }
}

}  // namespace streamsan::analyzer::device
