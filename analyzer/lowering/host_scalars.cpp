// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar expressions as text.
//
// An index or an offset is kept as text that names the integers it reads in the way Function::spell does, so that the
// analysis can put their values there: two uses of `i + 1` are equal while i is. A part that is no variable and no
// constant, a call above all, stands as it is written; what such an expression means is not known and equal to nothing.
#include "analyzer/lowering/host_values.h"

#include <algorithm>

#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::TypeKind;

ir::ExprId Values::negative(const clang::Expr* count) {
  if (const auto known = constant(count, unit_.context); known && *known != INT64_MIN) return numbers_.number(-*known);
  ir::Expr turned = scalar(count);
  turned.text = "-(" + turned.text + ")";
  turned.constant.reset();
  return out_.add(std::move(turned));
}

ir::ExprId Values::expr(const clang::Expr* expression) {
  if (expression == nullptr) return ir::kNoExpr;
  return out_.add(scalar(expression));
}

ir::PlaceId Values::size_asked(const clang::Expr* expression, llvm::StringRef name) {
  const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(strip(expression));
  const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
  if (method == nullptr || !method->getDeclName().isIdentifier() || method->getName() != name) return ir::kNoPlace;
  const clang::Expr* of = call->getImplicitObjectArgument();
  const clang::QualType type = of->getType();
  return places_.size(type->isPointerType() ? places_.pointee(operand(of), type->getPointeeType()) : places_.place(of));
}

ir::Expr Values::scalar(const clang::Expr* expression) {
  if (const auto known = constant(expression, unit_.context))
    return {.text = std::to_string(*known), .uses = {}, .constant = known};
  if (const ir::PlaceId size = size_asked(expression, "size"); size != ir::kNoPlace)
    return {.text = out_.spell(size), .uses = {size}, .constant = {}};
  if (const ir::PlaceId size = size_asked(expression, "empty"); size != ir::kNoPlace)
    return {.text = "(" + out_.spell(size) + " == 0)", .uses = {size}, .constant = {}};
  if (narrows(expression, unit_.context))
    return {.text = source_text(expression, unit_.context), .uses = {}, .constant = {}};
  const clang::Expr* at = strip(expression);
  const auto part = [&](const clang::Expr* inner) {
    ir::Expr made = scalar(inner);
    if (llvm::isa<clang::BinaryOperator, clang::ConditionalOperator>(strip(inner)) && !made.constant)
      made.text = "(" + made.text + ")";
    return made;
  };
  const auto add_uses = [](ir::Expr& to, const ir::Expr& from) {
    for (ir::PlaceId use : from.uses)
      if (std::find(to.uses.begin(), to.uses.end(), use) == to.uses.end()) to.uses.push_back(use);
  };
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at); binary && !binary->isAssignmentOp()) {
    ir::Expr left = part(binary->getLHS());
    const ir::Expr right = part(binary->getRHS());
    left.text += " " + binary->getOpcodeStr().str() + " " + right.text;
    add_uses(left, right);
    left.constant.reset();
    return left;
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
    const auto opcode = unary->getOpcode();
    if (opcode == clang::UO_Minus || opcode == clang::UO_Not || opcode == clang::UO_LNot) {
      ir::Expr inner = part(unary->getSubExpr());
      inner.text = clang::UnaryOperator::getOpcodeStr(opcode).str() + inner.text;
      inner.constant.reset();
      return inner;
    }
    // `slots[next++ % 3]`: the step has been taken, and what counts is the value from before.
    if (unary->isPostfix()) {
      const ir::PlaceId stepped = places_.place(unary->getSubExpr());
      if (stepped != ir::kNoPlace && out_.kind(stepped) == TypeKind::Integer)
        return {.text = "(" + out_.spell(stepped) + (unary->isIncrementOp() ? " - 1)" : " + 1)"),
                .uses = {stepped},
                .constant = {}};
    }
  }
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(at)) {
    ir::Expr made = part(choice->getCond());
    const ir::Expr yes = part(choice->getTrueExpr()), no = part(choice->getFalseExpr());
    made.text += " ? " + yes.text + " : " + no.text;
    made.constant.reset();
    add_uses(made, yes);
    add_uses(made, no);
    return made;
  }
  // What a function whose code is seen has returned: `if (take(&next))`.
  if (const Result* known = llvm::isa<clang::CallExpr>(at) ? result(at) : nullptr;
      known != nullptr && known->place != ir::kNoPlace && out_.kind(known->place) == TypeKind::Integer)
    return {.text = out_.spell(known->place), .uses = {known->place}, .constant = {}};
  if (at->isGLValue() && !llvm::isa<clang::CallExpr, clang::CXXConstructExpr>(at)) {
    const ir::PlaceId read = places_.place(at);
    if (read != ir::kNoPlace && out_.kind(read) != TypeKind::Other && out_.kind(read) != TypeKind::Object)
      return {.text = out_.spell(read), .uses = {read}, .constant = {}};
  }
  return {.text = source_text(at, unit_.context), .uses = {}, .constant = {}};
}

}  // namespace streamsan::analyzer::host
