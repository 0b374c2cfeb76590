// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call gives to the function that it calls, for code that reads configurations of launches off statements.
#pragma once

#include "analyzer/ir/ir.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/ArrayRef.h"

namespace streamsan::analyzer::host {

/// Without casts, copies and the operators `&` and `*`: of all these the variable that is meant is the same.
const clang::Expr* plain(const clang::Expr* expression);

/// The variable that `expression` names, or a part of which it names: `attribute[0].val`, `attributes.data()`.
const clang::ValueDecl* root(const clang::Expr* expression);

/// A call of a function, by which its parameters have values.
struct HelperCaller {
  const clang::FunctionDecl* helper = nullptr;
  llvm::ArrayRef<const clang::Expr*> arguments{};
  const HelperCaller* outer = nullptr;  ///< of the function that calls it; nullptr: its parameters are anything

  /// What the parameter is given; nullptr: it is none of the helper's.
  [[nodiscard]] const clang::Expr* given(const clang::Expr* parameter) const;

  /// What a part of the parameter was initialised with, if the caller's variable is constant or a temporary.
  [[nodiscard]] const clang::Expr* given_part(const clang::MemberExpr& part) const;
};

inline llvm::ArrayRef<const clang::Expr*> arguments_of(const clang::CallExpr& call) {
  return {call.getArgs(), call.getNumArgs()};
}

/// Has `config`, an argument of `launch` in `function`, the attribute, if the function is called so?
ir::Certainty programmatic(const clang::FunctionDecl& function, const clang::Expr& launch, const clang::Expr& config,
                           const HelperCaller& caller);

}  // namespace streamsan::analyzer::host
