// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has to be known of a function's statements before its CFG is walked. See host_scan.cpp.
#pragma once

#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace clang {
class ASTContext;
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

struct Scan {
  explicit Scan(const clang::FunctionDecl& function);

  /// By call: the statement that it is part of, a child of a compound statement that the file shows.
  llvm::DenseMap<const clang::Stmt*, const clang::Stmt*> statements;
  /// Calls whose value nobody looks at.
  llvm::DenseSet<const clang::Stmt*> dropped;
  llvm::DenseMap<const clang::Expr*, Destination> destinations;
  /// The two results of c ? a : b.
  llvm::DenseMap<const clang::Expr*, const clang::AbstractConditionalOperator*> branches;
  /// Choices c ? a : b of which only the value is read.
  llvm::DenseSet<const clang::AbstractConditionalOperator*> values;
  /// The hidden iterator of a range-for: the variable of its range.
  llvm::DenseMap<const clang::VarDecl*, const clang::VarDecl*> iterators;
  /// `return x;` where x itself is what is returned: no copy is made.
  llvm::DenseMap<const clang::Expr*, const clang::VarDecl*> returned;
  /// Variables of main() that live until it ends.
  llvm::DenseSet<const clang::VarDecl*> until_exit;
  /// Local variables that are not only read, set and counted: an address is taken, one is scaled, ...
  llvm::DenseSet<const clang::VarDecl*> not_only_counted;
  std::string incomplete;  ///< why the function cannot be lowered whole

 private:
  void walk(const clang::Stmt* statement, const clang::Stmt* enclosing);
  void walk_call(const clang::Stmt& call, const clang::Stmt* enclosing);

  void note_destination(const clang::Expr* value, Destination destination);
  void note_variable(const clang::VarDecl& variable);
  void note_count(const clang::Stmt& statement);
  /// If `expression` names a variable, this name is accounted for.
  void account_for(const clang::Expr* expression);

  llvm::DenseSet<const clang::Expr*> accounted_for_;
};

}  // namespace streamsan::analyzer::host
