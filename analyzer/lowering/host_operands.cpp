// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which value an expression has, and scalar expressions as text.
//
// A pointer is a place that holds it, or the address of a place, and an offset, which is a number of steps and the size
// of one: casts lie between `p + 4` of a float* and of a char*. An index or an offset is kept as text
// that names the integers it reads in the way Function::spell does, so that the analysis can put their values there:
// two uses of `i + 1` are equal while i is. A part that is no variable and no constant, a call above all, stands as it
// is written; what such an expression means is not known and equal to nothing.
#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/Lexer.h"

#include "analyzer/lowering/host_body.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::Place;
using ir::TypeKind;

const Body::Result* Body::result(const clang::Expr* expression) const {
  const auto found = results_.find(strip(expression));
  return found == results_.end() ? nullptr : &found->second;
}

std::string Body::source_text(const clang::Expr* expression) const {
  const clang::SourceManager& sources = unit_.context.getSourceManager();
  const llvm::StringRef written = clang::Lexer::getSourceText(
      clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(expression->getSourceRange()), sources,
                                      unit_.context.getLangOpts()),
      sources, unit_.context.getLangOpts());
  constexpr std::size_t kMostCharacters = 80;
  std::string text;
  bool blank = false;
  for (const char c : written) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      blank = !text.empty();
      continue;
    }
    if (blank) text += ' ';
    blank = false;
    text += c;
    if (text.size() >= kMostCharacters) return text + "...";
  }
  return text.empty() ? "(...)" : text;
}

std::optional<std::int64_t> Body::constant(const clang::Expr* expression) {
  if (expression == nullptr || expression->isValueDependent() || expression->isTypeDependent()) return std::nullopt;
  if (!expression->getType()->isIntegralOrEnumerationType()) {
    // Handles that are constants: (cudaStream_t)2.
    expression = strip(expression);
    if (!expression->getType()->isIntegralOrEnumerationType()) return std::nullopt;
  }
  clang::Expr::EvalResult result;
  if (!expression->EvaluateAsInt(result, unit_.context, clang::Expr::SE_NoSideEffects)) return std::nullopt;
  const llvm::APSInt& integer = result.Val.getInt();
  if (!integer.isRepresentableByInt64()) return std::nullopt;
  return integer.getExtValue();
}

ir::ExprId Body::number(std::int64_t value) {
  return function_.add(ir::Expr{.text = std::to_string(value), .uses = {}, .constant = value});
}

ir::ExprId Body::unknown_number() { return function_.add(ir::Expr{.text = "?", .uses = {}, .constant = {}}); }

std::uint32_t Body::size_of(clang::QualType type) const {
  if (type.isNull() || type->isDependentType() || type->isPlaceholderType()) return 0;
  if (type->isVoidType()) return 1;
  if (type->isIncompleteType() || type->isFunctionType() || type->isSizelessType()) return 0;
  const auto bytes = unit_.context.getTypeSizeInChars(type.getNonReferenceType()).getQuantity();
  return bytes > 0 && bytes <= UINT32_MAX ? static_cast<std::uint32_t>(bytes) : 0;
}

ir::ExprId Body::stepped(ir::ExprId count, clang::QualType element) {
  if (count == ir::kNoExpr || function_[count].unit != 0 || element.isNull()) return count;
  // Handles and pointers are values, not bytes: what matters of their elements is which.
  const TypeKind of = kind(element);
  if (of == TypeKind::Stream || of == TypeKind::Event || of == TypeKind::Graph || of == TypeKind::Pointer) return count;
  ir::Expr counted = function_[count];
  counted.unit = size_of(element);
  return function_.add(std::move(counted));
}

ir::ExprId Body::steps(ir::ExprId count, clang::QualType pointer) {
  if (pointer->isPointerType()) return stepped(count, pointer->getPointeeType());
  if (const auto* array = pointer->getAsArrayTypeUnsafe()) return stepped(count, array->getElementType());
  // CUdeviceptr, uintptr_t
  return pointer->isIntegerType() ? stepped(count, unit_.context.CharTy) : count;
}

ir::ExprId Body::sum(ir::ExprId left, ir::ExprId right) {
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

ir::ExprId Body::negative(const clang::Expr* count) {
  if (const auto known = constant(count); known && *known != INT64_MIN) return number(-*known);
  ir::Expr turned = scalar(count);
  turned.text = "-(" + turned.text + ")";
  turned.constant.reset();
  return function_.add(std::move(turned));
}

Operand Body::moved(Operand pointer, ir::ExprId offset) {
  if (pointer.kind != Operand::Kind::Value && pointer.kind != Operand::Kind::Address) return pointer;
  if (offset == ir::kNoExpr) return pointer;
  pointer.offset = pointer.offset == ir::kNoExpr ? offset : sum(pointer.offset, offset);
  if (function_[pointer.offset].constant == 0) pointer.offset = ir::kNoExpr;
  return pointer;
}

ir::ExprId Body::index_of(ir::PlaceId integer) {
  return function_.add(ir::Expr{.text = function_.spell(integer), .uses = {integer}, .constant = {}});
}

ir::ExprId Body::expr(const clang::Expr* expression) {
  if (expression == nullptr) return ir::kNoExpr;
  return function_.add(scalar(expression));
}

ir::Expr Body::scalar(const clang::Expr* expression) {
  if (const auto known = constant(expression)) return {.text = std::to_string(*known), .uses = {}, .constant = known};
  if (narrows(expression, unit_.context)) return {.text = source_text(expression), .uses = {}, .constant = {}};
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
  if (at->isGLValue() && !llvm::isa<clang::CallExpr, clang::CXXConstructExpr>(at)) {
    const ir::PlaceId read = place(at);
    if (read != ir::kNoPlace && kind(read) != TypeKind::Other && kind(read) != TypeKind::Object)
      return {.text = function_.spell(read), .uses = {read}, .constant = {}};
  }
  return {.text = source_text(at), .uses = {}, .constant = {}};
}

Operand Body::address_of(ir::PlaceId at) {
  if (at == ir::kNoPlace) return unknown();
  const Place held = function_[at];
  if (held.kind == Place::Kind::Deref) return value(held.base);
  if (held.kind == Place::Kind::Index) {
    if (kind(held.base) == TypeKind::Pointer) return moved(value(held.base), held.index);
    // Plain data lies in the block of its vector; handles and objects are known by the vector.
    const bool plain = held.type == TypeKind::Other || held.type == TypeKind::Integer;
    if (plain && unit_.symbols.has_block(type_of(held.base))) return moved(value(data(held.base)), held.index);
  }
  return address(at);
}

ir::PlaceId Body::element_around(ir::PlaceId at) const {
  ir::PlaceId outer = at;
  while (function_[outer].kind == Place::Kind::Field) outer = function_[outer].base;
  const Place& held = function_[outer];
  const bool in_block = held.kind == Place::Kind::Deref ||
                        (held.kind == Place::Kind::Index &&
                         (kind(held.base) == TypeKind::Pointer || unit_.symbols.has_block(type_of(held.base))));
  return in_block ? outer : at;
}

Operand Body::memory_of(ir::PlaceId at) {
  if (at == ir::kNoPlace) return unknown();
  const ir::PlaceId whole = element_around(at);
  const Place held = function_[whole];
  if (held.kind == Place::Kind::Index && unit_.symbols.has_block(type_of(held.base)))
    return moved(value(data(held.base)), held.index);
  return address_of(whole);
}

bool Body::points(const clang::Expr* expression) {
  const clang::Expr* at = strip(expression);
  if (expression->getType()->isArrayType()) return true;
  // In `device + 128` of a CUdeviceptr the 128 is made one, too, and the sum may be none.
  if (!expression->getType()->isIntegerType()) return kind(expression->getType()) == TypeKind::Pointer;
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at); binary != nullptr && binary->isAdditiveOp())
    return points(binary->getLHS()) != points(binary->getRHS());
  return kind(at->getType()) == TypeKind::Pointer;
}

Operand Body::operand(const clang::Expr* expression) {
  if (expression == nullptr) return unknown();
  const clang::Expr* at = strip(expression);
  if (const Result* known = result(at)) return known->value;
  const TypeKind of = kind(expression->getType());
  const bool handle = of == TypeKind::Stream || of == TypeKind::Event || of == TypeKind::Graph;

  if (llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr, clang::ImplicitValueInitExpr,
                clang::CXXScalarValueInitExpr>(at))
    return {.kind = Operand::Kind::Null};
  if (at->getType()->isIntegralOrEnumerationType() && (handle || of == TypeKind::Pointer)) {
    const auto number = constant(at);
    if (number == 0) return {.kind = Operand::Kind::Null};
    if (of == TypeKind::Stream && number == 1) return {.kind = Operand::Kind::LegacyStream};
    if (of == TypeKind::Stream && number == 2) return {.kind = Operand::Kind::PerThreadStream};
  }
  switch (at->getStmtClass()) {
    case clang::Stmt::CXXThisExprClass:
      return address_of(this_place());
    case clang::Stmt::UnaryOperatorClass: {
      const auto* unary = llvm::cast<clang::UnaryOperator>(at);
      if (unary->getOpcode() == clang::UO_AddrOf) return address_of(place(unary->getSubExpr()));
      if (unary->isIncrementDecrementOp() && unary->isPostfix()) {
        // The value from before, which the place no longer has.
        const ir::PlaceId changed = place(unary->getSubExpr());
        return kind(changed) == TypeKind::Pointer
                   ? moved(value(changed), steps(number(unary->isIncrementOp() ? -1 : 1), unary->getType()))
                   : unknown();
      }
      break;
    }
    case clang::Stmt::BinaryOperatorClass: {
      const auto* binary = llvm::cast<clang::BinaryOperator>(at);
      if (!binary->isAdditiveOp()) break;
      const bool left = points(binary->getLHS()), right = points(binary->getRHS());
      if (left == right) return unknown();
      const clang::Expr* pointer = left ? binary->getLHS() : binary->getRHS();
      const clang::Expr* by = left ? binary->getRHS() : binary->getLHS();
      const Operand from = operand(pointer);
      const ir::ExprId count = binary->getOpcode() == clang::BO_Add ? expr(by) : negative(by);
      return moved(from, steps(count, pointer->getType()));
    }
    case clang::Stmt::InitListExprClass: {
      const auto* list = llvm::cast<clang::InitListExpr>(at);
      if (of == TypeKind::Object) break;
      return list->getNumInits() == 0 ? Operand{.kind = Operand::Kind::Null} : operand(list->getInit(0));
    }
    case clang::Stmt::DeclRefExprClass:
      if (const auto* constant_stream = llvm::dyn_cast<clang::VarDecl>(llvm::cast<clang::DeclRefExpr>(at)->getDecl());
          constant_stream != nullptr && !constant_stream->hasLocalStorage())
        if (const auto kind_of = unit_.symbols.models().stream_constant(Symbols::qualified(*constant_stream)))
          return {.kind = *kind_of};
      break;
    default:
      break;
  }
  const ir::PlaceId named = place(at);
  if (named == ir::kNoPlace) return unknown();
  // A name for an array is its address.
  if (at->getType()->isArrayType()) return address(named);
  return value(named);
}

Operand Body::stream(const clang::Expr* expression) {
  // A launch takes its stream as void*: constants are known by their value.
  if (const clang::Expr* at = strip(expression); at->getType()->isIntegralOrEnumerationType()) {
    const auto number = constant(at);
    if (number == 1) return {.kind = Operand::Kind::LegacyStream};
    if (number == 2) return {.kind = Operand::Kind::PerThreadStream};
  }
  const Operand given = operand(expression);
  if (given.kind == Operand::Kind::Null) return {.kind = Operand::Kind::DefaultStream};
  // rmm::cuda_stream_view made from a class of the user's: not a stream's value.
  if (given.kind == Operand::Kind::Value && kind(given.place) != TypeKind::Stream &&
      kind(given.place) != TypeKind::Pointer)
    return unknown();
  return given;
}

Operand Body::memory(const clang::Expr* expression) {
  if (expression == nullptr) return unknown();
  const clang::Expr* at = strip(expression);
  if (const Result* known = result(at); known != nullptr && known->value.place != ir::kNoPlace)
    if (known->value.kind == Operand::Kind::Address || kind(known->value.place) == TypeKind::Pointer)
      return known->value;
  if (at->getType()->isArrayType()) return operand(at);
  if (kind(expression->getType()) == TypeKind::Pointer || kind(at->getType()) == TypeKind::Pointer) return operand(at);
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(at))
    if (const auto* iterator = llvm::dyn_cast<clang::VarDecl>(reference->getDecl()))
      if (const auto range = iterated_.find(iterator); range != iterated_.end() && range->second != ir::kNoPlace)
        return memory_of(element(range->second, index_of(variables_[iterator]), {}));
  if (at->getType()->isIntegralOrEnumerationType()) {
    const Operand given = operand(at);
    return given.kind == Operand::Kind::Value && kind(given.place) != TypeKind::Pointer ? unknown() : given;
  }
  const auto owner = unit_.symbols.owner(at->getType());
  if (!owner && !unit_.symbols.points(at->getType()) && !unit_.symbols.views(at->getType())) return unknown();
  const ir::PlaceId object = place(at);
  if (object == ir::kNoPlace) return unknown();
  if (!owner || owner->tensor || unit_.symbols.points(at->getType()) || unit_.symbols.has_block(at->getType()))
    return value(data(object));
  return address(object);
}

Operand Body::integer(const clang::Expr* expression) {
  const clang::Expr* at = strip(expression);
  if (const auto known = constant(expression)) return {.kind = Operand::Kind::Number, .offset = number(*known)};
  const ir::PlaceId from = at->isGLValue() ? place(at) : ir::kNoPlace;
  const bool equal = from != ir::kNoPlace && kind(from) == TypeKind::Integer && !narrows(expression, unit_.context);
  return equal ? value(from) : unknown();
}

Operand Body::argument_operand(const clang::Expr* argument, bool by_reference) {
  if (!by_reference) {
    switch (kind(argument->getType())) {
      case TypeKind::Integer:
        return integer(argument);
      case TypeKind::Object: {
        const ir::PlaceId object = place(argument);
        return object == ir::kNoPlace ? unknown() : value(object);
      }
      case TypeKind::Other:
        return unknown();
      default:
        return operand(argument);
    }
  }
  const clang::Expr* at = strip(argument);
  if (const ir::PlaceId referent = place(at); referent != ir::kNoPlace) return address(referent);
  // A value bound to a reference: a temporary that holds it.
  const TypeKind of = kind(argument->getType());
  if (of == TypeKind::Other) return unknown();
  const ir::PlaceId held = object_temporary(argument->getType());
  assign(held, argument);
  return address(held);
}

}  // namespace streamsan::analyzer::host
