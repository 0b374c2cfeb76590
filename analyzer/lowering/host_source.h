// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes over a finished function may ask about the source that it was lowered from.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"

namespace clang {
class Expr;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Source {
 public:
  virtual ~Source() = default;

  /// nullptr: it is no variable of the function.
  [[nodiscard]] virtual const clang::VarDecl* variable(ir::PlaceId place) const = 0;
  /// The other way round; kNoPlace: it was not met.
  [[nodiscard]] virtual ir::PlaceId place(const clang::ValueDecl& variable) const = 0;
  /// What the index of an iterator starts at, if the place is one and that is known.
  [[nodiscard]] virtual std::optional<ir::ExprId> first_index(ir::PlaceId place) const = 0;
  /// Nothing happens to the variable but that it is read, set and stepped.
  [[nodiscard]] virtual bool only_counted(const clang::VarDecl& variable) const = 0;
  /// The expression, as one of the function.
  virtual ir::ExprId expr(const clang::Expr& expression) = 0;
};

}  // namespace streamsan::analyzer::host
