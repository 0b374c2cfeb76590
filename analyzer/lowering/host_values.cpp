// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which value an expression has.
//
// A pointer is a place that holds it, or the address of a place, and an offset, which is a number of steps and the size
// of one: casts lie between `p + 4` of a float* and of a char*.
#include "analyzer/lowering/host_values.h"
#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::Place;
using ir::TypeKind;

Values::Values(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      assignments_(parts.assignments) {}

const Values::Result* Values::result(const clang::Expr* expression) const {
  const auto found = results_.find(strip(expression));
  return found == results_.end() ? nullptr : &found->second;
}

void Values::set_result(const clang::Expr& expression, Operand value, ir::PlaceId place) {
  results_[strip(&expression)] = {value, place};
}

void Values::forget_result(const clang::Expr& expression) { results_.erase(strip(&expression)); }

ir::PlaceId Values::result_place(const clang::Expr& call) {
  if (const Result* known = result(&call);
      known != nullptr && known->place != ir::kNoPlace && known->value.kind == Operand::Kind::Value)
    return known->place;
  const ir::PlaceId made = places_.destination(call, call.getType());
  set_result(call, value(made), made);
  return made;
}

Operand Values::address_of(ir::PlaceId at) {
  if (at == ir::kNoPlace) return unknown();
  const Place held = out_[at];
  if (held.kind == Place::Kind::Deref) return value(held.base);
  if (held.kind == Place::Kind::Index) {
    if (out_.kind(held.base) == TypeKind::Pointer) return numbers_.moved(value(held.base), held.index);
    // Plain data lies in the block of its vector; handles and objects are known by the vector.
    const bool plain = held.type == TypeKind::Other || held.type == TypeKind::Integer;
    if (plain && unit_.symbols.has_block(out_.type_of(held.base)))
      return numbers_.moved(value(places_.data(held.base)), held.index);
  }
  return address(at);
}

ir::PlaceId Values::element_around(ir::PlaceId at) const {
  ir::PlaceId outer = at;
  while (out_[outer].kind == Place::Kind::Field) outer = out_[outer].base;
  const Place& held = out_[outer];
  const bool in_block = held.kind == Place::Kind::Deref ||
                        (held.kind == Place::Kind::Index && (out_.kind(held.base) == TypeKind::Pointer ||
                                                             unit_.symbols.has_block(out_.type_of(held.base))));
  return in_block ? outer : at;
}

Operand Values::memory_of(ir::PlaceId at) {
  if (at == ir::kNoPlace) return unknown();
  const ir::PlaceId whole = element_around(at);
  const Place held = out_[whole];
  if (held.kind == Place::Kind::Index && unit_.symbols.has_block(out_.type_of(held.base)))
    return numbers_.moved(value(places_.data(held.base)), held.index);
  return address_of(whole);
}

Operand Values::bytes_at(const Operand& memory) {
  if (memory.kind != Operand::Kind::Address || memory.place == ir::kNoPlace) return memory;
  const auto in_block = [&](ir::PlaceId of) {
    const clang::QualType type = out_.type_of(of);
    return unit_.symbols.has_block(type) && !unit_.symbols.views(type);
  };
  const Place held = out_[element_around(memory.place)];
  Operand block = memory;
  if (held.kind == Place::Kind::Index && in_block(held.base)) {
    block = numbers_.moved(value(places_.data(held.base)), held.index);
  } else if (in_block(memory.place)) {
    block = value(places_.data(memory.place));
  }
  return block == memory || memory.offset == ir::kNoExpr ? block : numbers_.moved(block, memory.offset);
}

bool Values::points(const clang::Expr* expression) {
  const clang::Expr* at = strip(expression);
  if (expression->getType()->isArrayType()) return true;
  // In `device + 128` of a CUdeviceptr the 128 is made one, too, and the sum may be none.
  if (!expression->getType()->isIntegerType()) return out_.kind(expression->getType()) == TypeKind::Pointer;
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at); binary != nullptr && binary->isAdditiveOp())
    return points(binary->getLHS()) != points(binary->getRHS());
  return out_.kind(at->getType()) == TypeKind::Pointer;
}

Operand Values::operand(const clang::Expr* expression) {
  if (expression == nullptr) return unknown();
  const clang::Expr* at = strip(expression);
  if (const Result* known = result(at)) return known->value;
  const TypeKind of = out_.kind(expression->getType());

  if (llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr, clang::ImplicitValueInitExpr,
                clang::CXXScalarValueInitExpr>(at))
    return {.kind = Operand::Kind::Null};
  if (at->getType()->isIntegralOrEnumerationType() && (is_handle(of) || of == TypeKind::Pointer)) {
    const auto number = constant(at, unit_.context);
    if (number == 0) return {.kind = Operand::Kind::Null};
    if (of == TypeKind::Stream && number == 1) return {.kind = Operand::Kind::LegacyStream};
    if (of == TypeKind::Stream && number == 2) return {.kind = Operand::Kind::PerThreadStream};
  }
  switch (at->getStmtClass()) {
    case clang::Stmt::CXXThisExprClass:
      return address_of(places_.this_place());
    case clang::Stmt::UnaryOperatorClass: {
      const auto* unary = llvm::cast<clang::UnaryOperator>(at);
      if (unary->getOpcode() == clang::UO_AddrOf) return address_of(places_.place(unary->getSubExpr()));
      if (unary->isIncrementDecrementOp() && unary->isPostfix()) {
        // The value from before, which the place no longer has.
        const ir::PlaceId changed = places_.place(unary->getSubExpr());
        return out_.kind(changed) == TypeKind::Pointer
                   ? numbers_.moved(value(changed),
                                    numbers_.steps(numbers_.number(unary->isIncrementOp() ? -1 : 1), unary->getType()))
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
      return numbers_.moved(from, numbers_.steps(count, pointer->getType()));
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
  const ir::PlaceId named = places_.place(at);
  if (named == ir::kNoPlace) return unknown();
  // A name for an array is its address.
  if (at->getType()->isArrayType()) return address(named);
  return value(named);
}

Operand Values::stream(const clang::Expr* expression) {
  // A launch takes its stream as void*: constants are known by their value.
  if (const clang::Expr* at = strip(expression); at->getType()->isIntegralOrEnumerationType()) {
    const auto number = constant(at, unit_.context);
    if (number == 1) return {.kind = Operand::Kind::LegacyStream};
    if (number == 2) return {.kind = Operand::Kind::PerThreadStream};
  }
  const Operand given = operand(expression);
  if (given.kind == Operand::Kind::Null) return {.kind = Operand::Kind::DefaultStream};
  // rmm::cuda_stream_view made from a class of the user's: not a stream's value.
  if (given.kind == Operand::Kind::Value && out_.kind(given.place) != TypeKind::Stream &&
      out_.kind(given.place) != TypeKind::Pointer)
    return unknown();
  return given;
}

Operand Values::memory(const clang::Expr* expression) {
  if (expression == nullptr) return unknown();
  const clang::Expr* at = strip(expression);
  if (const Result* known = result(at); known != nullptr && known->value.place != ir::kNoPlace)
    if (known->value.kind == Operand::Kind::Address || out_.kind(known->value.place) == TypeKind::Pointer)
      return known->value;
  if (at->getType()->isArrayType()) return operand(at);
  if (out_.kind(expression->getType()) == TypeKind::Pointer || out_.kind(at->getType()) == TypeKind::Pointer)
    return operand(at);
  if (const auto iterator = places_.iterator(at); iterator && iterator->container != ir::kNoPlace)
    return memory_of(places_.element(iterator->container, numbers_.index_of(iterator->index), {}));
  if (at->getType()->isIntegralOrEnumerationType()) {
    const Operand given = operand(at);
    return given.kind == Operand::Kind::Value && out_.kind(given.place) != TypeKind::Pointer ? unknown() : given;
  }
  const auto owner = unit_.symbols.owner(at->getType());
  if (!owner && !unit_.symbols.points(at->getType()) && !unit_.symbols.views(at->getType())) return unknown();
  const ir::PlaceId object = places_.place(at);
  if (object == ir::kNoPlace) return unknown();
  if (!owner || owner->tensor || unit_.symbols.points(at->getType()) || unit_.symbols.has_block(at->getType()))
    return value(places_.data(object));
  return address(object);
}

bool Values::computes(const clang::Expr* expression) {
  const clang::Expr* at = strip(expression);
  if (constant(expression, unit_.context)) return true;
  if (narrows(expression, unit_.context)) return false;
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at))
    return (binary->isMultiplicativeOp() || binary->isAdditiveOp() || binary->isShiftOp()) &&
           computes(binary->getLHS()) && computes(binary->getRHS());
  const ir::PlaceId from = at->isGLValue() ? places_.place(at) : ir::kNoPlace;
  return from != ir::kNoPlace && out_.kind(from) == TypeKind::Integer;
}

Operand Values::computed_integer(const clang::Expr* argument) {
  const Operand known = integer(argument);
  if (known.kind != Operand::Kind::Unknown || !llvm::isa<clang::BinaryOperator>(strip(argument)) || !computes(argument))
    return known;
  return {.kind = Operand::Kind::Number, .offset = expr(argument)};
}

Operand Values::integer(const clang::Expr* expression) {
  const clang::Expr* at = strip(expression);
  if (const auto known = constant(expression, unit_.context))
    return {.kind = Operand::Kind::Number, .offset = numbers_.number(*known)};
  if (const ir::PlaceId size = size_asked(at, "size"); size != ir::kNoPlace) return value(size);
  const ir::PlaceId from = at->isGLValue() ? places_.place(at) : ir::kNoPlace;
  const bool equal =
      from != ir::kNoPlace && out_.kind(from) == TypeKind::Integer && !narrows(expression, unit_.context);
  return equal ? value(from) : unknown();
}

ir::Access Values::access(const Operand& memory, ir::Mode mode) const {
  ir::Access made{.memory = memory, .mode = mode};
  if (ir::is_value_of(out_, memory, ir::Hidden::Data) && out_[memory.place].base != ir::kNoPlace) {
    const clang::QualType type = out_.type_of(out_[memory.place].base);
    const auto of = unit_.symbols.block_memory(type);
    if (of && !unit_.symbols.views(type)) {
      made.pinned = *of == ordering::MemoryKind::Pinned;
      made.pageable = *of == ordering::MemoryKind::Pageable;
    }
  }
  return made;
}

Operand Values::argument_operand(const clang::Expr* argument, bool by_reference) {
  if (!by_reference) {
    switch (out_.kind(argument->getType())) {
      case TypeKind::Integer:
        return computed_integer(argument);
      case TypeKind::Object: {
        const ir::PlaceId object = places_.place(argument);
        return object == ir::kNoPlace ? unknown() : value(object);
      }
      case TypeKind::Other:
        return unknown();
      default:
        return operand(argument);
    }
  }
  const clang::Expr* at = strip(argument);
  if (const ir::PlaceId referent = places_.place(at); referent != ir::kNoPlace) return address(referent);
  // A value bound to a reference: a temporary that holds it.
  const TypeKind of = out_.kind(argument->getType());
  if (of == TypeKind::Other) return unknown();
  const ir::PlaceId held = out_.object_temporary(argument->getType());
  assignments_.assign(held, argument);
  return address(held);
}

}  // namespace streamsan::analyzer::host
