// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of what device functions return: `at(i, j, pitch)`, `view(i)`, `clamp(i, low, high)`; and of numbers in memory
// that are one for all threads. See device_bounds.h.
//
// A function is read if all it does is to compute what it returns, by conditions if need be: its parameters have the
// bounds of what they are given.
#include <algorithm>

#include "analyzer/lowering/device_bounds.h"
#include "analyzer/lowering/device_memory.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

const clang::ReturnStmt* only_return(const clang::Stmt* statement) {
  const auto* block = clang::dyn_cast_or_null<clang::CompoundStmt>(statement);
  if (block != nullptr && block->size() == 1) statement = block->body_front();
  return clang::dyn_cast_or_null<clang::ReturnStmt>(statement);
}

/// All that the function does is to compute what it returns.
bool only_computes(const clang::Stmt& body) {
  constexpr unsigned kMostStatements = 16;
  const auto* block = dyn_cast<clang::CompoundStmt>(&body);
  return block != nullptr && block->size() <= kMostStatements &&
         std::ranges::all_of(block->body(), [](const clang::Stmt* statement) {
           const auto* branch = dyn_cast<clang::IfStmt>(statement);
           return isa<clang::ReturnStmt, clang::DeclStmt, clang::NullStmt>(statement) ||
                  (branch != nullptr && only_return(branch->getThen()) != nullptr && branch->getElse() == nullptr);
         });
}

/// A part of the object itself, and not of what a pointer in it leads to.
bool is_in_object(const clang::Expr* glvalue) {
  for (;;) {
    glvalue = glvalue->IgnoreParenImpCasts();
    if (const auto* member = dyn_cast<clang::MemberExpr>(glvalue)) {
      if (member->isArrow()) return isa<clang::CXXThisExpr>(member->getBase()->IgnoreParenImpCasts());
      glvalue = member->getBase();
    } else if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(glvalue)) {
      glvalue = element->getBase()->IgnoreParenImpCasts();
      if (!glvalue->getType()->isArrayType()) return false;
    } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(glvalue)) {
      glvalue = unary->getSubExpr();
    } else {
      return isa<clang::CXXThisExpr>(glvalue);
    }
  }
}

/// One of several.
MaybeBound any_of(const std::vector<MaybeBound>& bounds) {
  if (bounds.size() == 1) return bounds[0];
  std::optional<std::int64_t> least, most;
  for (const MaybeBound& bound : bounds) {
    if (!bound) return std::nullopt;
    if (bound->elsewhere) return moved_bound();
    if (!bound->number) return std::nullopt;
    least = std::min(least.value_or(*bound->number), *bound->number);
    most = std::max(most.value_or(*bound->number), *bound->number);
  }
  // Which of them the first thread gets is not known.
  return least && (*least > 0 || least == most) ? MaybeBound(Bound{.number = least}) : std::nullopt;
}

}  // namespace

MaybeBound Bounds::ask(const clang::Expr* expression, Asked what, unsigned deep) const {
  return what == Asked::Number    ? number(expression, deep)
         : what == Asked::Pointer ? pointer(expression, deep)
                                  : place(expression, deep);
}

MaybeBound Bounds::returned(const clang::Stmt& body, Asked what, unsigned deep) {
  std::vector<MaybeBound> bounds;
  const auto take = [&](const clang::ReturnStmt& result) {
    const clang::Expr* value = result.getRetValue();
    MaybeBound bound = ask(value, what, deep);
    if (value != nullptr && what == Asked::Place && is_in_object(value)) bound = std::nullopt;
    bounds.push_back(bound);
  };
  for (const clang::Stmt* statement : body.children()) {
    if (const auto* result = dyn_cast<clang::ReturnStmt>(statement)) {
      take(*result);
      return any_of(bounds);
    }
    const auto* branch = dyn_cast<clang::IfStmt>(statement);
    if (branch == nullptr) continue;
    const Mark before = mark();
    assume(branch->getCond(), true);
    take(*only_return(branch->getThen()));
    forget(before);
    assume(branch->getCond(), false);
  }
  return std::nullopt;
}

MaybeBound Bounds::result(const clang::CallExpr& call, Asked what, unsigned deep) const {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  const clang::FunctionDecl* definition = nullptr;
  if (callee == nullptr || !callee->hasBody(definition) || definition->isDependentContext()) return std::nullopt;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(definition);
  const bool is_operator = isa<clang::CXXOperatorCallExpr>(call) && method != nullptr && !method->isStatic();
  const unsigned first = is_operator ? 1 : 0;
  if ((method != nullptr && (method->isVirtual() || method->getParent()->isLambda())) ||
      definition->getNumParams() + first != call.getNumArgs() || !only_computes(*definition->getBody()))
    return std::nullopt;
  Bounds inside(*definition, moved_);
  inside.steps_ = steps_;
  MaybeBound from = constant_bound(0);
  for (unsigned i = 0; i < definition->getNumParams(); ++i) {
    const clang::ParmVarDecl* parameter = definition->getParamDecl(i);
    const clang::Expr* given = call.getArg(i + first);
    if (parameter->getType()->isPointerType()) {
      // It counts from what it was made of, as what it is given does.
      const MaybeBound behind = what == Asked::Number ? constant_bound(0) : pointer(given, deep + 1);
      from = plus(from, behind);
    } else if (const MaybeBound bound = number(given, deep + 1)) {
      inside.facts_.emplace_back(Variable{parameter, {}}, *bound);
    } else {
      inside.unknown_.insert(parameter);
    }
  }
  const MaybeBound bound = inside.returned(*definition->getBody(), what, deep + 1);
  steps_ = inside.steps_;
  return plus(from, bound);
}

bool Bounds::is_one_in_memory(const clang::Expr* expression) const {
  const clang::Expr* at = expression;
  bool behind_pointer = false;
  for (;;) {
    at = at->IgnoreParenImpCasts();
    if (const auto* member = dyn_cast<clang::MemberExpr>(at)) {
      at = member->getBase();
      behind_pointer |= member->isArrow() && !isa<clang::CXXThisExpr>(at->IgnoreParenImpCasts());
    } else if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(at)) {
      at = element->getBase();
      behind_pointer |= !at->IgnoreParenImpCasts()->getType()->isArrayType();
    } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(at); unary && unary->getOpcode() == clang::UO_Deref) {
      at = unary->getSubExpr();
      behind_pointer = true;
    } else {
      break;
    }
  }
  const auto* name = dyn_cast<clang::DeclRefExpr>(at);
  const bool of_program = name != nullptr && device_variable(*name->getDecl()) != nullptr;
  const bool given = name != nullptr && isa<clang::ParmVarDecl>(name->getDecl());
  if (!of_program && !(behind_pointer && (given || isa<clang::CXXThisExpr>(at)))) return false;
  Roots roots;
  collect(expression, roots);
  return roots.indices.empty();
}

}  // namespace streamsan::analyzer::device
