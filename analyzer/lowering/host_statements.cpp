// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations, assignments, and values that change.
//
// A step by one keeps what is known of an integer; any other change makes it another.
//
// A reference is the place it is bound to, named at its declaration: `auto& s = streams[i]` is `streams[i]`, also after
// i has changed. That is wrong for a loop that keeps such a reference over its `++i`; nobody writes that, and it would
// make the analysis take two elements for one, or one for two. A reference to what has no place is a variable.
//
// The hidden iterator of a range-for is an index: `for (auto& s : streams)` names `streams[each]`.
#include "analyzer/lowering/host_walk.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_calls.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_touches.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::TypeKind;

namespace {

/// get<N>(e) of what a structured binding that is no reference takes apart.
bool is_own_part(const clang::Expr* expression) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(expression);
  const auto* of =
      call == nullptr || call->getNumArgs() != 1 ? nullptr : llvm::dyn_cast<clang::DeclRefExpr>(strip(call->getArg(0)));
  const auto* whole = of == nullptr ? nullptr : llvm::dyn_cast<clang::DecompositionDecl>(of->getDecl());
  return whole != nullptr && !whole->getType()->isReferenceType();
}

}  // namespace

void Walk::statement(const clang::Stmt& statement) {
  switch (statement.getStmtClass()) {
    case clang::Stmt::DeclStmtClass:
      for (const clang::Decl* declared : llvm::cast<clang::DeclStmt>(statement).decls())
        if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) declare(*variable);
      return;
    case clang::Stmt::ReturnStmtClass:
      return return_value(llvm::cast<clang::ReturnStmt>(statement));
    default:
      break;
  }
  const auto* expression = llvm::dyn_cast<clang::Expr>(&statement);
  if (expression == nullptr) return;
  evaluate(*expression);
  if (scan_.branches.contains(expression)) assignments_.choose(*expression);
}

void Walk::evaluate(const clang::Expr& expression) {
  if (llvm::isa<clang::CallExpr>(expression)) return calls_.lower(expression);
  switch (expression.getStmtClass()) {
    case clang::Stmt::CXXConstructExprClass:
    case clang::Stmt::CXXTemporaryObjectExprClass:
      return lifetimes_.construct(llvm::cast<clang::CXXConstructExpr>(expression));
    case clang::Stmt::CXXDeleteExprClass:
      return lifetimes_.delete_object(llvm::cast<clang::CXXDeleteExpr>(expression));
    case clang::Stmt::LambdaExprClass:
      return assignments_.make_closure(llvm::cast<clang::LambdaExpr>(expression));
    case clang::Stmt::CXXDefaultArgExprClass: {
      // Not part of the CFG, and evaluated anew for each call: `stream = get_default_stream()`.
      const clang::Expr* value = strip(&expression);
      values_.forget_result(*value);
      if (llvm::isa<clang::CallExpr, clang::CXXConstructExpr>(value)) evaluate(*value);
      return;
    }
    case clang::Stmt::ImplicitCastExprClass: {
      const auto& cast = llvm::cast<clang::ImplicitCastExpr>(expression);
      if (cast.getCastKind() == clang::CK_LValueToRValue) touches_.touch_read(*cast.getSubExpr(), expression);
      return;
    }
    case clang::Stmt::UnaryOperatorClass:
      return step(llvm::cast<clang::UnaryOperator>(expression));
    case clang::Stmt::CompoundAssignOperatorClass:
    case clang::Stmt::BinaryOperatorClass:
      return assign(llvm::cast<clang::BinaryOperator>(expression));
    default:
      return;
  }
}

void Walk::step(const clang::UnaryOperator& step) {
  if (!step.isIncrementDecrementOp()) return;
  const ir::PlaceId target = places_.place(step.getSubExpr());
  if (target == ir::kNoPlace) return;
  touches_.touch(target, ir::Mode::ReadWrite, step);
  if (out_.kind(target) == TypeKind::Pointer) {
    const ir::ExprId by = numbers_.steps(numbers_.number(step.isIncrementOp() ? 1 : -1), step.getType());
    return out_.emit_assign(target, numbers_.moved(value(target), by), out_.site(step));
  }
  // A step of one variable keeps what is known of it: that this is not the first round, which slot is next.
  if (out_.is_variable(target) && out_.kind(target) == TypeKind::Integer) {
    ir::Expr next{
        .text = out_.spell(target) + (step.isIncrementOp() ? " + 1" : " - 1"), .uses = {target}, .constant = {}};
    return out_.emit_assign(target, {.kind = Operand::Kind::Number, .offset = out_.add(std::move(next))},
                            out_.site(step));
  }
  out_.emit_fresh(target, out_.site(step));
}

void Walk::assign(const clang::BinaryOperator& assignment) {
  if (!assignment.isAssignmentOp()) return;
  const ir::PlaceId target = places_.place(assignment.getLHS());
  if (target == ir::kNoPlace) return;
  const bool compound = assignment.isCompoundAssignmentOp();
  touches_.touch(target, compound ? ir::Mode::ReadWrite : ir::Mode::Write, assignment);
  if (!compound) return assignments_.assign(target, assignment.getRHS());
  if (out_.kind(target) == TypeKind::Integer) return assign_step(target, assignment);
  if (out_.kind(target) != TypeKind::Pointer) return out_.emit_fresh(target, out_.site(assignment));
  const bool forward = assignment.getOpcode() == clang::BO_AddAssign;
  if (!forward && assignment.getOpcode() != clang::BO_SubAssign)
    return out_.emit_assign(target, unknown(), out_.site(assignment));
  const ir::ExprId by = forward ? values_.expr(assignment.getRHS()) : values_.negative(assignment.getRHS());
  const Operand there = numbers_.moved(value(target), numbers_.steps(by, assignment.getLHS()->getType()));
  out_.emit_assign(target, there, out_.site(assignment));
}

void Walk::assign_step(ir::PlaceId target, const clang::BinaryOperator& step) {
  // `slot ^= 1`: what a constant becomes. A sum may be one of many rounds.
  const auto by = constant(step.getRHS(), unit_.context);
  const auto opcode = clang::BinaryOperator::getOpForCompoundAssignment(step.getOpcode());
  if (!by || *by < 0 || (opcode != clang::BO_Xor && opcode != clang::BO_Rem && opcode != clang::BO_And))
    return out_.emit_fresh(target, out_.site(step));
  ir::Expr next{
      .text = out_.spell(target) + " " + clang::BinaryOperator::getOpcodeStr(opcode).str() + " " + std::to_string(*by),
      .uses = {target},
      .constant = {}};
  out_.emit_assign(target, {.kind = Operand::Kind::Number, .offset = out_.add(std::move(next))}, out_.site(step));
}

void Walk::declare(const clang::VarDecl& variable) {
  if (const auto range = scan_.iterators.find(&variable); range != scan_.iterators.end()) {
    Places::Iterator hidden{.index = out_.new_local(ir::kEach, TypeKind::Integer)};
    hidden.container = places_.place(range->second->getInit());
    hidden.first = numbers_.number(0);
    places_.declare_iterator(variable, hidden);
    // The entries of a map have no numbers.
    const bool keyed = hidden.container != ir::kNoPlace && unit_.symbols.is_map(out_.type_of(hidden.container));
    if (keyed) return out_.emit_fresh(hidden.index, ir::kNoSite);
    return out_.emit_assign(hidden.index, {.kind = Operand::Kind::Number, .offset = hidden.first}, ir::kNoSite);
  }
  if (variable.isImplicit() && variable.getName().starts_with("__end")) return;
  if (variable.getType()->isReferenceType()) return bind(variable);
  if (!variable.hasInit()) return;
  if (unit_.symbols.iterates(variable.getType())) return declare_iterator(variable);
  if (const ir::PlaceId target = places_.variable(variable); target != ir::kNoPlace)
    assignments_.initialize(target, variable.getInit());
}

/// auto it = v.begin()
void Walk::declare_iterator(const clang::VarDecl& variable) {
  Places::Iterator made;
  if (const Values::Result* start = values_.result(variable.getInit())) {
    const Operand& at = start->value;
    const bool in_block = ir::is_value_of(out_, at, ir::Hidden::Data);
    if (in_block || at.kind == Operand::Kind::Address) {
      made.container = in_block ? out_[at.place].base : at.place;
      made.first = at.offset == ir::kNoExpr ? numbers_.number(0) : at.offset;
    }
  }
  // It stands at what one variable holds: a key, `v.begin() + n`.
  const ir::Expr* first = made.first == ir::kNoExpr ? nullptr : &out_[made.first];
  const ir::PlaceId same = first != nullptr && first->uses.size() == 1 && first->text == out_.spell(first->uses[0])
                               ? first->uses[0]
                               : ir::kNoPlace;
  made.index = out_.new_local(variable.getNameAsString(), same == ir::kNoPlace ? TypeKind::Integer : out_.kind(same));
  places_.declare_iterator(variable, made);
  if (same != ir::kNoPlace) return out_.emit_assign(made.index, value(same), out_.site(*variable.getInit()));
  out_.emit_fresh(made.index, out_.site(*variable.getInit()));
}

void Walk::bind(const clang::VarDecl& reference) {
  if (!reference.hasInit() || !reference.hasLocalStorage()) return;
  const clang::Expr* referent = strip(reference.getInit());
  ir::PlaceId bound = places_.place(referent);
  if (bound != ir::kNoPlace && is_own_part(referent)) {
    // `auto [a, b] = f();`: nobody else has a name for what is taken apart.
    const clang::QualType type = reference.getType().getNonReferenceType();
    const ir::PlaceId named = out_.typed(out_.new_local(reference.getNameAsString(), out_.kind(type)), type);
    assignments_.move_object(named, bound, type, out_.site(*reference.getInit()));
    return places_.bind(reference, named);
  }
  if (bound == ir::kNoPlace) {
    const TypeKind of = out_.kind(reference.getType());
    bound = out_.typed(out_.new_local(reference.getNameAsString(), of), reference.getType());
    // A temporary that lives as long as the reference; or an object that is not known.
    if (!referent->isGLValue() && of != TypeKind::Other) {
      assignments_.initialize(bound, reference.getInit());
    } else {
      out_.emit_fresh(bound, out_.site(*reference.getInit()));
    }
  }
  places_.bind(reference, frozen(bound));
}

ir::PlaceId Walk::frozen(ir::PlaceId at) {
  if (at == ir::kNoPlace) return at;
  const ir::Place held = out_[at];
  if (held.kind != ir::Place::Kind::Field && held.kind != ir::Place::Kind::Index) return at;
  ir::Place same = held;
  same.base = frozen(held.base);
  if (held.kind == ir::Place::Kind::Index && held.index != ir::kNoExpr) {
    ir::Expr index = out_[held.index];
    for (ir::PlaceId& use : index.uses) {
      // What others than this function count has a value of its own from here on.
      if (out_[use].base == ir::kNoPlace || out_[use].type != TypeKind::Integer) continue;
      const ir::PlaceId now = out_.new_local(out_.spell(use), TypeKind::Integer);
      out_.emit_assign(now, value(use), ir::kNoSite);
      use = now;
    }
    if (index.uses != out_[held.index].uses) same.index = out_.add(std::move(index));
  }
  if (same.base == held.base && same.index == held.index) return at;
  const clang::QualType type = out_.type_of(at);
  return out_.typed(out_.add(std::move(same)), type);
}

void Walk::return_value(const clang::ReturnStmt& statement) {
  returned_ = Operand{};
  const clang::Expr* value = statement.getRetValue();
  const clang::QualType type = definition_.getReturnType();
  // A reference to a float is a pointer like any other.
  const bool reference = type->isReferenceType();
  if (value == nullptr || (!reference && out_.kind(type) == TypeKind::Other)) return;
  const ir::PlaceId result = places_.returned();
  returned_variable_ = statement.getNRVOCandidate();
  if (reference) {
    const ir::PlaceId referent = places_.place(value);
    returned_ = referent == ir::kNoPlace ? unknown() : values_.address_of(referent);
    return;
  }
  switch (out_.kind(type)) {
    case TypeKind::Object: {
      if (const ir::PlaceId from = returned_variable_ ? places_.variable(*returned_variable_) : places_.place(value);
          from == ir::kNoPlace) {
        assignments_.assign(result, value);
        returned_ = host::value(result);
      } else {
        returned_ = host::value(from);
      }
      return;
    }
    case TypeKind::Integer:
      returned_ = values_.integer(value);
      return;
    default:
      returned_ = values_.operand(value);
  }
}

}  // namespace streamsan::analyzer::host
