// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any expression that calls a function: a call, an operator, a constructor.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/symbols.h"
#include "llvm/ADT/SmallVector.h"

namespace clang {
class Expr;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

struct Call {
  const clang::Expr* expression = nullptr;
  const clang::FunctionDecl* callee = nullptr;  ///< null: called through a pointer
  const Symbols::Known* known = nullptr;        ///< null with the callee
  const Model* model = nullptr;
  llvm::SmallVector<const clang::Expr*, 8> arguments;  ///< without the object
  const clang::Expr* object_expression = nullptr;
  ir::PlaceId object = ir::kNoPlace;
  bool exact = false;    ///< the object's class is known: no virtual dispatch
  bool dropped = false;  ///< nobody looks at its value
  ir::SiteId site = ir::kNoSite;

  /// At a position of a model: nullptr if there is no such argument.
  [[nodiscard]] const clang::Expr* argument(int position) const;
  /// If the parameter at this position is a reference.
  [[nodiscard]] bool by_reference(std::size_t position) const;
};

/// An op of this call, with its site and name.
ir::Op start(ir::OpKind kind, const Call& call);

}  // namespace streamsan::analyzer::host
