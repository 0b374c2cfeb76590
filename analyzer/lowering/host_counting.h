// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the head of a loop counts from and to; see host_counting.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_loops.h"

namespace clang {
class ForStmt;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Numbers;
class Source;

/// What a variable counts from and to in the rounds of one loop, where that is known.
struct Counted {
  ir::ExprId first = ir::kNoExpr;
  ir::ExprId last = ir::kNoExpr;  ///< if every number up to it is met
  bool grows = false;
  bool by_one = false;
};

class Counting {
 public:
  Counting(ir::Function& function, Numbers& numbers, Source& source)
      : function_(function), numbers_(numbers), source_(source) {}

  Counted counted(ir::PlaceId variable, const Loop& loop);
  /// The inner loop has the same rounds in all those of the outer one.
  bool begins_in_all_rounds(const Loop& inner, const Loop& outer);

 private:
  ir::ExprId last(const clang::ForStmt& loop, const clang::VarDecl& variable, bool grows);

  ir::Function& function_;
  Numbers& numbers_;
  Source& source_;
};

}  // namespace streamsan::analyzer::host
