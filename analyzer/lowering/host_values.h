// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which value an expression has: as the operand of an op, as a number, as memory. Keeps what the expressions that were
// evaluated left behind: calls, constructions and lambdas are lowered when the CFG comes to them and only looked up
// when the expression around them is.
#pragma once

#include "analyzer/ir/ir.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/DenseMap.h"

namespace clang {
class Expr;
}

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Numbers;
class Places;
struct Parts;
struct Unit;

class Values {
 public:
  explicit Values(const Parts& parts);

  /// What an expression that was evaluated before left behind.
  struct Result {
    ir::Operand value;
    ir::PlaceId place = ir::kNoPlace;  ///< of an lvalue or an object
  };
  /// nullptr: none.
  [[nodiscard]] const Result* result(const clang::Expr* expression) const;
  void set_result(const clang::Expr& expression, ir::Operand value, ir::PlaceId place = ir::kNoPlace);
  void forget_result(const clang::Expr& expression);
  /// Where the value of a call is: what it initialises, or a temporary; made when it is first asked for.
  ir::PlaceId result_place(const clang::Expr& call);

  ir::Operand operand(const clang::Expr* expression);
  ir::Operand stream(const clang::Expr* expression);
  /// A variable's value or a number; else unknown.
  ir::Operand integer(const clang::Expr* expression);
  /// The same; a sum or product of such variables is the number that it is worth.
  ir::Operand computed_integer(const clang::Expr* argument);
  /// What a pointer, an array, a container or an iterator points to.
  ir::Operand memory(const clang::Expr* expression);
  ir::Operand memory_of(ir::PlaceId place);
  /// Where the bytes at `memory` lie: handles and objects of a vector are known by the vector, and lie in its block.
  ir::Operand bytes_at(const ir::Operand& memory);
  ir::Operand address_of(ir::PlaceId place);
  ir::Operand argument_operand(const clang::Expr* argument, bool by_reference);
  /// With what the type of the memory says about it.
  [[nodiscard]] ir::Access access(const ir::Operand& memory, ir::Mode mode) const;
  /// What a pointer points to, if `place` is a member of it; else `place`.
  [[nodiscard]] ir::PlaceId element_around(ir::PlaceId place) const;

  // Scalar expressions (host_scalars.cpp).
  /// `v.size()`: the place that keeps it; kNoPlace: it is something else.
  /// `v.size()`, or another question about it by that name: what holds the size of v.
  ir::PlaceId size_asked(const clang::Expr* expression, llvm::StringRef name);
  ir::Expr scalar(const clang::Expr* expression);
  ir::ExprId expr(const clang::Expr* expression_or_null);
  ir::ExprId negative(const clang::Expr* count);

 private:
  /// An address, as a pointer or as an integer that holds one.
  bool points(const clang::Expr* expression);
  /// Made of constants, and variables that the IR has, by arithmetic and shifts.
  bool computes(const clang::Expr* expression);

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Assignments& assignments_;

  llvm::DenseMap<const clang::Expr*, Result> results_;
};

}  // namespace streamsan::analyzer::host
