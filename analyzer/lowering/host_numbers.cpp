// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of numbers and offsets.
//
// Numbers of different units are added in bytes; of a unit that is not known, with nothing: the sum is not known.
#include "analyzer/lowering/host_numbers.h"

#include <algorithm>

#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::TypeKind;

ir::ExprId Numbers::number(std::int64_t value) {
  return function_.add(ir::Expr{.text = std::to_string(value), .uses = {}, .constant = value});
}

ir::ExprId Numbers::unknown_number() { return function_.add(ir::Expr{.text = "?", .uses = {}, .constant = {}}); }

std::uint32_t Numbers::size_of(clang::QualType type) const {
  if (type.isNull() || type->isDependentType() || type->isPlaceholderType()) return 0;
  if (type->isVoidType()) return 1;
  if (type->isIncompleteType() || type->isFunctionType() || type->isSizelessType()) return 0;
  const auto bytes = unit_.context.getTypeSizeInChars(type.getNonReferenceType()).getQuantity();
  return bytes > 0 && bytes <= UINT32_MAX ? static_cast<std::uint32_t>(bytes) : 0;
}

ir::ExprId Numbers::stepped(ir::ExprId count, clang::QualType element) {
  if (count == ir::kNoExpr || function_[count].unit != 0 || element.isNull()) return count;
  // Handles and pointers are values, not bytes: what matters of their elements is which.
  const TypeKind of = unit_.symbols.kind(element);
  if (is_handle(of) || of == TypeKind::Pointer) return count;
  ir::Expr counted = function_[count];
  counted.unit = size_of(element);
  return function_.add(std::move(counted));
}

ir::ExprId Numbers::steps(ir::ExprId count, clang::QualType pointer) {
  if (pointer->isPointerType()) return stepped(count, pointer->getPointeeType());
  if (const auto* array = pointer->getAsArrayTypeUnsafe()) return stepped(count, array->getElementType());
  // CUdeviceptr, uintptr_t
  return pointer->isIntegerType() ? stepped(count, unit_.context.CharTy) : count;
}

ir::ExprId Numbers::sum(ir::ExprId left, ir::ExprId right) {
  ir::Expr a = function_[left], b = function_[right];
  if (a.unit != b.unit) {
    if (a.unit == 0 || b.unit == 0) return unknown_number();
    for (ir::Expr* side : {&a, &b}) {
      std::int64_t bytes = 0;
      if (side->constant && __builtin_mul_overflow(*side->constant, std::int64_t{side->unit}, &bytes))
        return unknown_number();
      if (side->unit != 1) side->text = "(" + side->text + ") * " + std::to_string(side->unit);
      if (side->constant) side->constant = bytes, side->text = std::to_string(bytes);
      side->unit = 1;
    }
  }
  ir::Expr both{.text = a.text + " + " + b.text, .uses = a.uses, .constant = {}, .unit = a.unit};
  for (ir::PlaceId use : b.uses)
    if (std::find(both.uses.begin(), both.uses.end(), use) == both.uses.end()) both.uses.push_back(use);
  std::int64_t total = 0;
  if (a.constant && b.constant && !__builtin_add_overflow(*a.constant, *b.constant, &total)) {
    both.constant = total;
    both.text = std::to_string(total);
  }
  return function_.add(std::move(both));
}

Operand Numbers::moved(Operand pointer, ir::ExprId offset) {
  if (pointer.kind != Operand::Kind::Value && pointer.kind != Operand::Kind::Address) return pointer;
  if (offset == ir::kNoExpr) return pointer;
  pointer.offset = pointer.offset == ir::kNoExpr ? offset : sum(pointer.offset, offset);
  if (function_[pointer.offset].constant == 0) pointer.offset = ir::kNoExpr;
  return pointer;
}

ir::ExprId Numbers::index_of(ir::PlaceId integer) {
  return function_.add(ir::Expr{.text = function_.spell(integer), .uses = {integer}, .constant = {}});
}

}  // namespace streamsan::analyzer::host
