// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a function's CFG: which block is written, and which statement is lowered by whom.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/ir/ir.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"

namespace clang {
class BinaryOperator;
class CFG;
class CFGBlock;
class CFGElement;
class CXXBindTemporaryExpr;
class CXXForRangeStmt;
class Expr;
class FunctionDecl;
class ReturnStmt;
class Stmt;
class UnaryOperator;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Assignments;
class Calls;
class Ends;
class FunctionBuilder;
class Lifetimes;
class Maps;
class Numbers;
class Places;
class Pools;
class Touches;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Walk {
 public:
  explicit Walk(const Parts& parts);

  /// `first`: of all calls, in which the initialisers of static local variables run.
  void walk(const clang::CFG& graph, bool first = false);
  /// By block: the statement that decides what comes next, or nullptr.
  [[nodiscard]] const std::vector<const clang::Stmt*>& terminators() const { return terminators_; }

 private:
  void walk_block(const clang::CFGBlock& block);
  void walk_element(const clang::CFGElement& element);
  void note_passed(const clang::Stmt& statement);
  void finish_block(const clang::CFGBlock& block);
  /// Asks the cases of a switch over a parameter one after the other, so that a literal argument decides it.
  bool ask_cases(const clang::CFGBlock& block, std::size_t from);
  /// If the last operation of a block decides by its error code where to go on, it moves to where it has not failed.
  void keep_off_failure(const clang::CFGBlock& block, llvm::ArrayRef<const clang::CFGBlock*> next);
  /// The last call of CUDA in the block, if it is what `condition` asks the success of.
  const clang::Expr* asked_in(const clang::CFGBlock& block, const clang::Expr& condition) const;
  /// Something is done to memory on the way from `failed` that does not come from `passed`.
  [[nodiscard]] bool uses_memory(const clang::CFGBlock& failed, const clang::CFGBlock& passed) const;
  /// What the head of a range-for asks.
  ir::ExprId rounds_left(const clang::CXXForRangeStmt& loop);

  // Statements (host_statements.cpp).
  void statement(const clang::Stmt& statement);
  void evaluate(const clang::Expr& expression);
  void step(const clang::UnaryOperator& step);
  void assign(const clang::BinaryOperator& assignment);
  void assign_step(ir::PlaceId target, const clang::BinaryOperator& step);
  void declare(const clang::VarDecl& variable);
  void declare_iterator(const clang::VarDecl& variable);
  void bind(const clang::VarDecl& reference);
  /// The same place, whatever its indices count to later.
  ir::PlaceId frozen(ir::PlaceId place);
  void return_value(const clang::ReturnStmt& statement);

  Unit& unit_;
  const clang::FunctionDecl& definition_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Touches& touches_;
  Ends& ends_;
  Lifetimes& lifetimes_;
  Calls& calls_;
  Maps& maps_;
  Pools& pools_;

  bool first_call_ = false;
  llvm::DenseSet<const clang::CXXBindTemporaryExpr*> passed_;  ///< by value, to functions in sight
  std::vector<std::size_t> first_;                             ///< by CFG block: its first block in the IR
  std::vector<std::size_t> last_;                              ///< by CFG block: its last
  std::vector<const clang::Stmt*> terminators_;                ///< by block of the IR
  std::optional<ir::Operand> returned_;                        ///< by the block that is walked
  const clang::VarDecl* returned_variable_ = nullptr;
};

}  // namespace streamsan::analyzer::host
