// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and offsets as expressions of the stream IR: constants, sums, and how many bytes a step is.
//
// Works on the table of expressions of one function, of one that is being written and of one that is done.
#pragma once

#include <cstdint>

#include "analyzer/ir/ir.h"

namespace clang {
class QualType;
}

namespace streamsan::analyzer::host {

struct Unit;

class Numbers {
 public:
  Numbers(Unit& unit, ir::Function& function) : unit_(unit), function_(function) {}

  ir::ExprId number(std::int64_t value);
  /// Equal to no other number.
  ir::ExprId unknown_number();
  /// What an integer variable holds.
  ir::ExprId index_of(ir::PlaceId integer);
  ir::ExprId sum(ir::ExprId left, ir::ExprId right);
  /// The pointer, `offset` further on.
  ir::Operand moved(ir::Operand pointer, ir::ExprId offset);
  /// The same number, of elements of this type, or of what this pointer points to.
  ir::ExprId stepped(ir::ExprId count, clang::QualType element);
  ir::ExprId steps(ir::ExprId count, clang::QualType pointer);
  /// In bytes; 0: not known.
  [[nodiscard]] std::uint32_t size_of(clang::QualType type) const;

 private:
  Unit& unit_;
  ir::Function& function_;
};

}  // namespace streamsan::analyzer::host
