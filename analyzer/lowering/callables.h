// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which function is behind a pointer to a function, or in a std::function. See callables.cpp.
#pragma once

#include <utility>
#include <vector>

#include "analyzer/lowering/symbols.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace clang {
class Expr;
class FunctionDecl;
class ParmVarDecl;
class Stmt;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer {

/// std::function and its like.
[[nodiscard]] bool wraps_callable(clang::QualType type);

class Callables {
 public:
  explicit Callables(Symbols& symbols) : symbols_(symbols) {}

  // What the walk over all bodies shows.
  void read(const clang::Stmt& statement);
  void read_parameter(const clang::FunctionDecl& callee, unsigned position, const clang::Expr& argument);
  void read_initial(const clang::ValueDecl& slot, const clang::Expr* value);

  /// The variable, parameter or field that the called expression names; nullptr: none that can be followed.
  [[nodiscard]] const clang::ValueDecl* slot(const clang::Expr* expression) const;
  /// The one function that it ever holds, nullptr if that is not known. To be asked when everything was read.
  [[nodiscard]] const clang::FunctionDecl* target(const clang::ValueDecl& slot) const;
  /// All that it is ever seen to hold.
  [[nodiscard]] std::vector<const clang::FunctionDecl*> seen_in(const clang::ValueDecl& slot) const;
  /// The one function that the value of an expression runs, nullptr if that is not known.
  [[nodiscard]] const clang::FunctionDecl* given(const clang::Expr& value) const;

  /// Parameters of a function, and what one of its callers gives them.
  using Bindings = std::vector<std::pair<const clang::ValueDecl*, const clang::FunctionDecl*>>;
  /// From now on these parameters hold these functions.
  void bind(const Bindings& bindings);
  /// A parameter that holds callables, that can be bound: its function puts nothing else there.
  [[nodiscard]] bool can_be_bound(const clang::ParmVarDecl& parameter) const;

 private:
  struct Held {
    std::vector<const clang::FunctionDecl*> functions;
    std::vector<const clang::ValueDecl*> copied;  ///< and what these hold
    bool unknown = false;
  };

  /// All that is ever put there is in this translation unit.
  [[nodiscard]] bool closed(const clang::ValueDecl& slot) const;
  void read_value(Held& held, const clang::Expr* value) const;
  void open(const clang::Expr* expression);

  Symbols& symbols_;
  llvm::DenseMap<const clang::ValueDecl*, Held> held_;
  llvm::DenseSet<const clang::ValueDecl*> reassigned_;  ///< parameters: by their function
  llvm::DenseMap<const clang::ValueDecl*, const clang::FunctionDecl*> bound_;
};

}  // namespace streamsan::analyzer
