// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a kernel's body that finds exact bytes (exact_bytes.h).
//
//   exact_walk.cpp    statements, conditions, and what is an access
//   exact_values.cpp  what an expression is, and where a place is
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "analyzer/lowering/exact_bytes.h"
#include "analyzer/lowering/linear.h"

namespace clang {
class ASTContext;
class CallExpr;
class Expr;
class ForStmt;
class QualType;
class Stmt;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

class ExactWalk {
 public:
  ExactWalk(const clang::FunctionDecl& kernel, const KnownLaunch& launch);

  /// What is touched for certain.
  std::vector<ExactBytes> all();

 private:
  using Held = Space::Held;
  /// A component of threadIdx (0 to 2) or blockIdx (3 to 5).
  using Component = unsigned;
  static constexpr Component kComponents = 6;
  struct Known {
    MaybeLinear value, place;
  };

  /// With one component fixed.
  void run(std::optional<Component> fixed, std::int64_t at);

  // Statements.
  void walk(const clang::Stmt* statement);
  void walk_children(const clang::Stmt& statement);
  void walk_choice(const clang::Expr* condition, const clang::Stmt* yes, const clang::Stmt* no);
  void walk_for(const clang::ForStmt& loop);
  void declare(const clang::VarDecl& variable);
  void walk_call(const clang::CallExpr& call);
  /// Threads end in it, by assembly.
  bool ends_thread(const clang::FunctionDecl& function);
  bool ends_thread_in(const clang::Stmt* statement);
  bool leaves_somewhere(const clang::Stmt* statement);
  void walk_body(const clang::FunctionDecl& function, const clang::CallExpr& call);
  /// What stands around an access to a place, and is an access itself.
  void walk_place(const clang::Expr* place);
  void access(const clang::Expr& glvalue, ir::Mode mode);
  void touch(const MaybeLinear& place, clang::QualType type, ir::Mode mode);
  /// From here on the condition holds, or does not.
  Held assume(const clang::Expr* condition, bool holds);
  Held assume_comparison(const clang::Expr& left, const clang::Expr& right, int op, bool holds);
  /// Which variables and fields get a value more than once, in functions that are called as well.
  void note_changes(const clang::Stmt* statement);
  /// Itself, or what it is a part of.
  [[nodiscard]] bool is_changed(const clang::Expr* glvalue) const;

  // Expressions. Integers and pointers.
  MaybeLinear value(const clang::Expr* expression);
  MaybeLinear value_of_cast(const clang::Expr* expression);
  MaybeLinear value_of_binary(const clang::Expr* expression);
  /// Where a glvalue is.
  MaybeLinear place(const clang::Expr* expression);
  /// What stands there.
  MaybeLinear load(const clang::Expr* glvalue);
  /// nullopt: no value, as its type cannot have it.
  MaybeLinear fitting(MaybeLinear value, clang::QualType type) const;
  MaybeLinear component(const clang::Expr* expression);

  const clang::FunctionDecl& kernel_;
  const KnownLaunch& launch_;
  clang::ASTContext& context_;
  Space space_;
  std::array<Linear, kComponents> components_;
  std::unordered_map<const clang::ValueDecl*, Known> known_;
  std::unordered_map<const clang::Expr*, MaybeLinear> results_;  ///< of calls
  std::set<const clang::ValueDecl*> changed_;
  std::set<const clang::FunctionDecl*> read_;
  std::map<const clang::FunctionDecl*, bool> ends_;  ///< the threads that get there
  MaybeLinear this_, returned_;
  bool alive_ = true;  ///< all threads get to here for which the conditions hold
  unsigned deep_ = 0;
  std::size_t left_ = 0;            ///< statements
  std::optional<Component> split_;  ///< decides which pointer is taken out of a table
  std::vector<ExactBytes> found_;
};

}  // namespace streamsan::analyzer::device
