// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations, assignments, and values that change.
//
// Handles and pointers are copied; integers get a new version with every write, unless they are a copy of another
// integer, a constant, or one more than before. A reference is the place it is bound to, named at its declaration:
// `auto& s = streams[i]` is `streams[i]`, also after i has changed. That is wrong for a loop that keeps such a
// reference over its `++i`; nobody writes that, and it would make the analysis take two elements for one, or one for
// two. What a reference cannot be resolved to is a pointer that is followed at each use.
//
// The hidden iterator of a range-for is an index: `for (auto& s : streams)` names `streams[each]`.
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

#include "analyzer/lowering/host_body.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

void Body::statement(const clang::Stmt& statement) {
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
  if (const auto branch = scan_.branches.find(expression); branch != scan_.branches.end()) branch_result(*expression);
}

void Body::evaluate(const clang::Expr& expression) {
  if (llvm::isa<clang::CallExpr>(expression)) return call(expression);
  switch (expression.getStmtClass()) {
    case clang::Stmt::CXXConstructExprClass:
    case clang::Stmt::CXXTemporaryObjectExprClass:
      return construct(llvm::cast<clang::CXXConstructExpr>(expression));
    case clang::Stmt::CXXDeleteExprClass:
      return delete_object(llvm::cast<clang::CXXDeleteExpr>(expression));
    case clang::Stmt::LambdaExprClass:
      return make_closure(llvm::cast<clang::LambdaExpr>(expression));
    case clang::Stmt::CXXDefaultArgExprClass: {
      // Not part of the CFG, and evaluated anew for each call: `stream = get_default_stream()`.
      const clang::Expr* value = strip(&expression);
      results_.erase(value);
      if (llvm::isa<clang::CallExpr, clang::CXXConstructExpr>(value)) evaluate(*value);
      return;
    }
    case clang::Stmt::ImplicitCastExprClass: {
      const auto& cast = llvm::cast<clang::ImplicitCastExpr>(expression);
      if (cast.getCastKind() == clang::CK_LValueToRValue) touch_read(*cast.getSubExpr(), expression);
      return;
    }
    case clang::Stmt::UnaryOperatorClass: {
      const auto& unary = llvm::cast<clang::UnaryOperator>(expression);
      if (!unary.isIncrementDecrementOp()) return;
      const ir::PlaceId target = place(unary.getSubExpr());
      if (target == ir::kNoPlace) return;
      touch(target, ir::Mode::ReadWrite, expression);
      if (kind(target) == TypeKind::Pointer)
        return emit_assign(target, moved(value(target), steps(number(unary.isIncrementOp() ? 1 : -1), unary.getType())),
                           site(expression));
      // A step of one variable keeps what is known of it: that this is not the first round.
      if (function_[target].base == ir::kNoPlace && kind(target) == TypeKind::Integer) {
        ir::Expr next{.text = function_.spell(target) + (unary.isIncrementOp() ? " + 1" : " - 1"),
                      .uses = {target},
                      .constant = {}};
        return emit_assign(target, {.kind = Operand::Kind::Number, .offset = function_.add(std::move(next))},
                           site(expression));
      }
      return emit_fresh(target, site(expression));
    }
    case clang::Stmt::CompoundAssignOperatorClass:
    case clang::Stmt::BinaryOperatorClass: {
      const auto& binary = llvm::cast<clang::BinaryOperator>(expression);
      if (!binary.isAssignmentOp()) return;
      const ir::PlaceId target = place(binary.getLHS());
      if (target == ir::kNoPlace) return;
      touch(target, binary.isCompoundAssignmentOp() ? ir::Mode::ReadWrite : ir::Mode::Write, expression);
      if (!binary.isCompoundAssignmentOp()) return assign(target, binary.getRHS());
      if (kind(target) == TypeKind::Integer) return assign_step(target, binary);
      if (kind(target) != TypeKind::Pointer) return emit_fresh(target, site(expression));
      const bool forward = binary.getOpcode() == clang::BO_AddAssign;
      if (!forward && binary.getOpcode() != clang::BO_SubAssign)
        return emit_assign(target, unknown(), site(expression));
      const ir::ExprId by = forward ? expr(binary.getRHS()) : negative(binary.getRHS());
      return emit_assign(target, moved(value(target), steps(by, binary.getLHS()->getType())), site(expression));
    }
    default:
      return;
  }
}

void Body::assign_step(ir::PlaceId target, const clang::BinaryOperator& step) {
  // `slot ^= 1`: what a constant becomes. A sum may be one of many rounds.
  const auto by = constant(step.getRHS());
  const auto opcode = clang::BinaryOperator::getOpForCompoundAssignment(step.getOpcode());
  if (!by || *by < 0 || (opcode != clang::BO_Xor && opcode != clang::BO_Rem && opcode != clang::BO_And))
    return emit_fresh(target, site(step));
  ir::Expr next{.text = function_.spell(target) + " " + clang::BinaryOperator::getOpcodeStr(opcode).str() + " " +
                        std::to_string(*by),
                .uses = {target},
                .constant = {}};
  emit_assign(target, {.kind = Operand::Kind::Number, .offset = function_.add(std::move(next))}, site(step));
}

void Body::declare(const clang::VarDecl& variable) {
  if (const auto range = scan_.iterators.find(&variable); range != scan_.iterators.end()) {
    const ir::PlaceId each = new_local("each", TypeKind::Integer);
    variables_[&variable] = each;
    iterated_[&variable] = place(range->second->getInit());
    iterators_begin_[static_cast<std::uint32_t>(each)] = number(0);
    return emit_fresh(each, ir::kNoSite);
  }
  if (variable.isImplicit() && variable.getName().starts_with("__end")) return;
  if (variable.getType()->isReferenceType()) return bind(variable);
  if (!variable.hasInit()) return;
  // auto it = v.begin()
  if (unit_.symbols.iterates(variable.getType())) {
    const Result* made = result(variable.getInit());
    const bool known =
        made != nullptr && (made->value.kind == Operand::Kind::Address ||
                            (made->value.kind == Operand::Kind::Value && function_[made->value.place].name == "$data"));
    const ir::PlaceId each = new_local(variable.getNameAsString(), TypeKind::Integer);
    variables_[&variable] = each;
    iterated_[&variable] = !known                                       ? ir::kNoPlace
                           : made->value.kind == Operand::Kind::Address ? made->value.place
                                                                        : function_[made->value.place].base;
    if (known)
      iterators_begin_[static_cast<std::uint32_t>(each)] =
          made->value.offset == ir::kNoExpr ? number(0) : made->value.offset;
    return emit_fresh(each, site(*variable.getInit()));
  }
  if (const ir::PlaceId target = this->variable(variable); target != ir::kNoPlace)
    initialize(target, variable.getInit());
}

void Body::bind(const clang::VarDecl& reference) {
  if (!reference.hasInit() || !reference.hasLocalStorage()) return;
  const clang::Expr* referent = strip(reference.getInit());
  ir::PlaceId bound = place(referent);
  if (bound == ir::kNoPlace && !referent->isGLValue() && kind(reference.getType()) != TypeKind::Other) {
    // A temporary that lives as long as the reference.
    bound = typed(new_local(reference.getNameAsString(), kind(reference.getType())), reference.getType());
    initialize(bound, reference.getInit());
  }
  if (bound == ir::kNoPlace) {
    bound = typed(new_local(reference.getNameAsString(), kind(reference.getType())), reference.getType());
    emit_fresh(bound, site(*reference.getInit()));
  }
  aliases_[&reference] = frozen(bound);
}

ir::PlaceId Body::frozen(ir::PlaceId at) {
  if (at == ir::kNoPlace) return at;
  const Place held = function_[at];
  if (held.kind != Place::Kind::Field && held.kind != Place::Kind::Index) return at;
  Place same = held;
  same.base = frozen(held.base);
  if (held.kind == Place::Kind::Index && held.index != ir::kNoExpr) {
    ir::Expr index = function_[held.index];
    for (ir::PlaceId& use : index.uses) {
      // What others than this function count has a value of its own from here on.
      if (function_[use].base == ir::kNoPlace || function_[use].type != TypeKind::Integer) continue;
      const ir::PlaceId now = new_local(function_.spell(use), TypeKind::Integer);
      emit_assign(now, value(use), ir::kNoSite);
      use = now;
    }
    if (index.uses != function_[held.index].uses) same.index = function_.add(std::move(index));
  }
  if (same.base == held.base && same.index == held.index) return at;
  const clang::QualType type = type_of(at);
  return typed(function_.add(std::move(same)), type);
}

std::optional<ir::Expr> Body::ring_step(const clang::Expr* source) {
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(strip(source));
  if (binary == nullptr || constant(source)) return std::nullopt;
  const auto opcode = binary->getOpcode();
  const bool turns = (opcode == clang::BO_Rem || opcode == clang::BO_Xor) && constant(binary->getRHS()).value_or(0) > 0;
  const bool flips = opcode == clang::BO_Sub && constant(binary->getLHS()) == 1;
  if (!turns && !flips) return std::nullopt;
  ir::Expr next = scalar(strip(source));
  if (next.uses.empty()) return std::nullopt;
  return next;
}

void Body::initialize(ir::PlaceId target, const clang::Expr* value) {
  if (target == ir::kNoPlace || value == nullptr) return;
  // A member of reference type is a pointer.
  if (value->isGLValue() && kind(target) == TypeKind::Pointer && !value->getType()->isArrayType() &&
      kind(value->getType()) != TypeKind::Pointer) {
    const ir::PlaceId referent = place(value);
    return emit_assign(target, referent == ir::kNoPlace ? unknown() : address_of(referent), site(*value));
  }
  assign(target, value);
}

void Body::assign(ir::PlaceId target, const clang::Expr* source) {
  const clang::Expr* value = strip(source);
  switch (kind(target)) {
    case TypeKind::Other:
      return;
    case TypeKind::Integer:
      if (auto next = ring_step(source))
        return emit_assign(target, {.kind = Operand::Kind::Number, .offset = function_.add(std::move(*next))},
                           site(*source));
      return emit_assign(target, integer(source), site(*source));
    case TypeKind::Stream:
    case TypeKind::Event:
    case TypeKind::Graph:
    case TypeKind::Pointer:
      return emit_assign(target, operand(source), site(*source));
    case TypeKind::Object:
      break;
  }
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(value)) return initialize_parts(target, *list);
  const ir::PlaceId from = place(value);
  if (from == target) return;
  if (from == ir::kNoPlace) return emit_fresh(target, site(*source));
  copy_object(target, from, value->getType());
}

void Body::copy_object(ir::PlaceId target, ir::PlaceId source, clang::QualType type) {
  if (target == source) return;
  if (const auto owner = unit_.symbols.owner(type); owner && owner->tensor)
    return share_tensor(target, source, /*moves=*/false, ir::kNoSite);
  emit_assign(target, value(source), ir::kNoSite);
  // What only library code ever names is copied by name: the engine copies the parts that the function mentions.
  if (unit_.symbols.points(type) || unit_.symbols.has_block(type))
    emit_assign(data(target), value(data(source)), ir::kNoSite);
}

void Body::initialize_parts(ir::PlaceId target, const clang::InitListExpr& list) {
  if (list.getNumInits() == 1 && list.isTransparent()) return assign(target, list.getInit(0));
  if (const clang::CXXRecordDecl* record = Symbols::record(list.getType())) {
    unsigned next = 0;
    for (const clang::CXXBaseSpecifier& base : record->bases()) {
      (void)base;
      if (next < list.getNumInits()) initialize(target, list.getInit(next++));
    }
    for (const clang::FieldDecl* field : record->fields()) {
      if (field->isUnnamedBitField()) continue;
      if (next >= list.getNumInits()) return;
      const clang::Expr* value = list.getInit(next++);
      const TypeKind of = kind(field->getType());
      if (of != TypeKind::Other && of != TypeKind::Integer) initialize(member(target, *field), value);
    }
    return;
  }
  // Long tables are data; arrays of handles are short.
  constexpr unsigned kMostElements = 64;
  const clang::QualType type = list.getType();
  if (!type->isArrayType() || list.getNumInits() > kMostElements) return;
  const clang::QualType inner(type->getArrayElementTypeNoTypeQual(), 0);
  const TypeKind of = kind(inner);
  if (of == TypeKind::Other || of == TypeKind::Integer) return;
  for (unsigned i = 0; i < list.getNumInits(); ++i) {
    const clang::Expr* value = list.getInit(i);
    if (of == TypeKind::Pointer && llvm::isa<clang::StringLiteral>(strip(value))) continue;
    initialize(element(target, number(i), inner), value);
  }
}

void Body::branch_result(const clang::Expr& branch) {
  const clang::AbstractConditionalOperator* choice = scan_.branches[&branch];
  const clang::QualType type = choice->getType();
  const bool reference = choice->isGLValue() && !scan_.values.contains(choice);
  const TypeKind of = reference ? TypeKind::Pointer : kind(type);
  if (of == TypeKind::Other || of == TypeKind::Integer) return;
  const auto [entry, fresh] = choices_.try_emplace(choice, ir::kNoPlace);
  if (fresh) {
    entry->second = reference ? temporary(of) : destination(*choice, type);
    const ir::PlaceId chosen = entry->second;
    if (reference) {
      const ir::PlaceId referent = pointee(value(chosen), type);
      results_[choice] = {value(referent), referent};
    } else {
      results_[choice] = {value(chosen), chosen};
    }
  }
  const ir::PlaceId target = choices_[choice];
  if (!reference) return assign(target, &branch);
  const ir::PlaceId referent = place(&branch);
  emit_assign(target, referent == ir::kNoPlace ? unknown() : address_of(referent), site(branch));
}

void Body::return_value(const clang::ReturnStmt& statement) {
  returned_ = Operand{};
  const clang::Expr* value = statement.getRetValue();
  const clang::QualType type = definition_.getReturnType();
  if (value == nullptr || kind(type) == TypeKind::Other) return;
  const bool reference = type->isReferenceType();
  if (result_ == ir::kNoPlace)
    result_ = reference ? new_local("$result", TypeKind::Pointer) : typed(new_local("$result", kind(type)), type);
  returned_variable_ = statement.getNRVOCandidate();
  if (reference) {
    const ir::PlaceId referent = place(value);
    returned_ = referent == ir::kNoPlace ? unknown() : address_of(referent);
    return;
  }
  switch (kind(type)) {
    case TypeKind::Object: {
      if (const ir::PlaceId from = returned_variable_ ? variable(*returned_variable_) : place(value);
          from == ir::kNoPlace) {
        assign(result_, value);
        returned_ = this->value(result_);
      } else {
        returned_ = this->value(from);
      }
      return;
    }
    case TypeKind::Integer:
      returned_ = integer(value);
      return;
    default:
      returned_ = operand(value);
  }
}

void Body::make_closure(const clang::LambdaExpr& lambda) {
  const ir::PlaceId closure = destination(lambda, lambda.getType());
  auto initializer = lambda.capture_init_begin();
  for (const clang::LambdaCapture& capture : lambda.captures()) {
    const clang::Expr* value = *initializer++;
    if (capture.capturesThis()) {
      const ir::PlaceId target = field(closure, "$this", "lambda", TypeKind::Pointer);
      const bool copy = capture.getCaptureKind() == clang::LCK_StarThis;
      emit_assign(target, copy ? unknown() : address(this_place()), site(lambda));
    } else if (capture.capturesVariable() && value != nullptr) {
      const clang::ValueDecl* variable = capture.getCapturedVar();
      const bool reference = capture.getCaptureKind() == clang::LCK_ByRef;
      const ir::PlaceId target = closure_field(closure, *variable, reference);
      if (!reference) {
        initialize(target, value);
      } else {
        const ir::PlaceId referent = this->variable(*variable);
        emit_assign(target, referent == ir::kNoPlace ? unknown() : address_of(referent), site(lambda));
      }
    }
  }
  results_[&lambda] = {value(closure), closure};
}

}  // namespace streamsan::analyzer::host
