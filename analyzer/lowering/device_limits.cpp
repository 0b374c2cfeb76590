// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers that are limits. See device_limits.h.
#include "analyzer/lowering/device_limits.h"

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr unsigned kMostCallsDeep = 4;
constexpr unsigned kMostParameters = 32;

std::uint32_t limits_of(const clang::FunctionDecl& function, unsigned deep);

/// The uses of a function's parameters.
class Uses {
 public:
  Uses(const clang::FunctionDecl& function, unsigned deep) : function_(function), deep_(deep) {}

  void look(const clang::Stmt* statement) {
    if (statement == nullptr) return;
    if (const auto* branch = dyn_cast<clang::IfStmt>(statement)) {
      if (branch->getElse() == nullptr && !branch->isConsteval())
        note_limits(branch->getCond(), !leaves(branch->getThen()));
    } else if (const auto* loop = dyn_cast<clang::ForStmt>(statement)) {
      note_limits(loop->getCond(), true);
    } else if (const auto* again = dyn_cast<clang::WhileStmt>(statement)) {
      note_limits(again->getCond(), true);
    } else if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
      note_passed(*call);
    } else if (const auto* name = dyn_cast<clang::DeclRefExpr>(statement)) {
      const auto* parameter = dyn_cast<clang::ParmVarDecl>(name->getDecl());
      if (parameter != nullptr && !understood_.contains(name)) other_ |= bit(*parameter);
    }
    for (const clang::Stmt* child : statement->children()) look(child);
  }

  /// Parameters that are used, or could be, for something else than a limit.
  [[nodiscard]] std::uint32_t other() const { return other_; }

 private:
  [[nodiscard]] std::uint32_t bit(const clang::ParmVarDecl& parameter) const {
    const unsigned position = parameter.getFunctionScopeIndex();
    return parameter.getDeclContext() == &function_ && position < kMostParameters ? 1U << position : 0;
  }

  static const clang::DeclRefExpr* parameter_in(const clang::Expr* expression) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenCasts());
    return name != nullptr && isa<clang::ParmVarDecl>(name->getDecl()) ? name : nullptr;
  }

  /// Memory is touched only where `condition` holds, or does not.
  void note_limits(const clang::Expr* condition, bool holds) {
    if (condition == nullptr) return;
    condition = condition->IgnoreParenImpCasts();
    if (const auto* unary = dyn_cast<clang::UnaryOperator>(condition);
        unary != nullptr && unary->getOpcode() == clang::UO_LNot)
      return note_limits(unary->getSubExpr(), !holds);
    const auto* binary = dyn_cast<clang::BinaryOperator>(condition);
    if (binary == nullptr) return;
    if (binary->isLogicalOp()) {
      if ((binary->getOpcode() == clang::BO_LAnd) != holds) return;  // either of the two may be what decides
      note_limits(binary->getLHS(), holds);
      return note_limits(binary->getRHS(), holds);
    }
    if (!binary->isRelationalOp()) return;
    const clang::BinaryOperatorKind op =
        holds ? binary->getOpcode() : clang::BinaryOperator::negateComparisonOp(binary->getOpcode());
    const bool right = op == clang::BO_LT || op == clang::BO_LE;
    if (const clang::DeclRefExpr* limit = parameter_in(right ? binary->getRHS() : binary->getLHS()))
      understood_.insert(limit);
  }

  void note_passed(const clang::CallExpr& call) {
    const clang::FunctionDecl* callee = call.getDirectCallee();
    if (callee == nullptr || isa<clang::CXXOperatorCallExpr>(call)) return;
    const std::uint32_t limits = limits_of(*callee, deep_ + 1);
    for (unsigned i = 0; i < call.getNumArgs() && i < kMostParameters; ++i) {
      if ((limits >> i & 1U) == 0) continue;
      if (const clang::DeclRefExpr* given = parameter_in(call.getArg(i))) understood_.insert(given);
    }
  }

  const clang::FunctionDecl& function_;
  const unsigned deep_;
  llvm::DenseSet<const clang::DeclRefExpr*> understood_;
  std::uint32_t other_ = 0;
};

std::uint32_t limits_of(const clang::FunctionDecl& function, unsigned deep) {
  const clang::FunctionDecl* definition = nullptr;
  if (deep > kMostCallsDeep || !function.hasBody(definition) || definition->isDependentContext()) return 0;
  Uses uses(*definition, deep);
  uses.look(definition->getBody());
  std::uint32_t limits = 0;
  for (const clang::ParmVarDecl* parameter : definition->parameters()) {
    const unsigned position = parameter->getFunctionScopeIndex();
    if (position < kMostParameters && parameter->getType()->isIntegralOrEnumerationType()) limits |= 1U << position;
  }
  return limits & ~uses.other();
}

}  // namespace

bool ends_thread(const clang::Stmt& statement) {
  const auto* assembly = dyn_cast<clang::GCCAsmStmt>(&statement);
  return assembly != nullptr && llvm::StringRef(assembly->getAsmString()).contains("exit");
}

bool leaves(const clang::Stmt* statement) {
  if (const auto* block = dyn_cast<clang::CompoundStmt>(statement))
    return !block->body_empty() && leaves(block->body_back());
  return isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt>(statement);
}

std::uint32_t limits_of(const clang::FunctionDecl& function) { return limits_of(function, 0); }

}  // namespace streamsan::analyzer::device
