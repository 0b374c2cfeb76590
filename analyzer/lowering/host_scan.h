// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has to be known of a function's statements before its CFG is walked. See host_scan.cpp.
#pragma once

#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace clang {
class AbstractConditionalOperator;
class CXXCtorInitializer;
class Expr;
class FunctionDecl;
class Stmt;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

/// What the value of an expression initialises.
struct Destination {
  enum class Kind : std::uint8_t { Variable, Member, Result, New };
  Kind kind = Kind::Variable;
  const void* of = nullptr;  ///< VarDecl, CXXCtorInitializer, none, CXXNewExpr
};

/// What is done to a local variable, as far as it may count the rounds of a loop.
struct Counter {
  llvm::SmallVector<const clang::Expr*, 2> starts;  ///< every value it is set to
  llvm::SmallVector<const clang::Expr*, 2> bounds;  ///< conditions of the loops that step it
  bool grows = false;
  bool shrinks = false;
  bool otherwise = false;  ///< its address is taken, it is scaled, ...
};

struct Scan {
  explicit Scan(const clang::FunctionDecl& function);

  /// Of a call: the statement that it is part of, a child of a compound statement that the file shows.
  llvm::DenseMap<const clang::Stmt*, const clang::Stmt*> statements;
  /// Calls whose value nobody looks at.
  llvm::DenseSet<const clang::Stmt*> dropped;
  llvm::DenseMap<const clang::Expr*, Destination> destinations;
  /// The two results of c ? a : b.
  llvm::DenseMap<const clang::Expr*, const clang::AbstractConditionalOperator*> branches;
  /// Of c ? a : b only the value is read.
  llvm::DenseSet<const clang::AbstractConditionalOperator*> values;
  /// The hidden iterator of a range-for: the variable of its range.
  llvm::DenseMap<const clang::VarDecl*, const clang::VarDecl*> iterators;
  /// `return x;` where x itself is what is returned: no copy is made.
  llvm::DenseMap<const clang::Expr*, const clang::VarDecl*> returned;
  /// Variables of main() that live until it ends.
  llvm::DenseSet<const clang::VarDecl*> until_exit;
  llvm::DenseMap<const clang::VarDecl*, Counter> counters;
  std::string incomplete;  ///< why the function cannot be lowered whole

 private:
  void walk(const clang::Stmt* statement, const clang::Stmt* enclosing);
  void walk_call(const clang::Stmt& call, const clang::Stmt* enclosing);

  void note_destination(const clang::Expr* value, Destination destination);
  void note_variable(const clang::VarDecl& variable);
  void note_count(const clang::Stmt& statement);
  /// The variable's own counter, if `expression` names one; its name there is accounted for.
  Counter* counter(const clang::Expr* expression);

  llvm::DenseSet<const clang::Expr*> counted_;  ///< names of counters that were accounted for
};

/// What an expression is when everything is taken off that does not change which object or value it means.
const clang::Expr* strip(const clang::Expr* expression);

}  // namespace streamsan::analyzer::host
