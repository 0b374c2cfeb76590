// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a launch is a programmatic one (R-LCH-02), and launches through helpers. See programmatic.cpp.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"
#include "llvm/ADT/SmallVector.h"

namespace clang {
class CallExpr;
class Expr;
class FunctionDecl;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer {
class Symbols;
}

namespace streamsan::analyzer::host {

/// Has `config`, an argument of `launch` in `function`, the attribute of programmatic stream serialisation?
ir::Certainty programmatic(const clang::FunctionDecl& function, const clang::Expr& launch, const clang::Expr& config);

/// The kernel that `pointer` is, if that is a local variable of `function` that holds one kernel for good; or nullptr.
const clang::FunctionDecl* kernel_in_variable(const clang::FunctionDecl& function, const clang::Expr& pointer);

/// A call of a function that is given a kernel and launches it.
struct HelperLaunch {
  const clang::FunctionDecl* kernel = nullptr;
  const clang::Expr* stream = nullptr;                 ///< in the caller
  const clang::ValueDecl* stream_field = nullptr;      ///< the stream is this part of what `stream` names
  llvm::SmallVector<const clang::Expr*, 8> arguments;  ///< in the caller
  ir::Certainty programmatic = ir::Certainty::No;
};
/// Absent: it is none, or more than that happens in it.
std::optional<HelperLaunch> helper_launch(Symbols& symbols, const clang::CallExpr& call);

}  // namespace streamsan::analyzer::host
