// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of integers and pointers, and addresses of places. A pointer is the number of the byte that it points to.
#include <limits>

#include "analyzer/lowering/exact_walk.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecordLayout.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;

Linear constant(std::int64_t number) { return {.constant = number, .terms = {}}; }

bool is_number(clang::QualType type) { return type->isIntegralOrEnumerationType() || type->isPointerType(); }

std::optional<std::int64_t> element_of(clang::QualType pointer, const clang::ASTContext& context) {
  const clang::QualType pointee = pointer->getPointeeType();
  if (pointee.isNull() || pointee->isIncompleteType() || pointee->isFunctionType() || pointee->isDependentType())
    return std::nullopt;
  return context.getTypeSizeInChars(pointee).getQuantity();
}

}  // namespace

MaybeLinear ExactWalk::fitting(MaybeLinear value, clang::QualType type) const {
  if (!value || type->isPointerType()) return value;
  if (type->isBooleanType()) return value->terms.empty() ? value : std::nullopt;
  if (!type->isIntegralOrEnumerationType()) return std::nullopt;
  const std::uint64_t bits = context_.getIntWidth(type);
  const bool is_signed = type->isSignedIntegerOrEnumerationType();
  const std::int64_t least = space_.least(*value), most = space_.most(*value);
  if (!is_signed && least < 0) return std::nullopt;
  const std::uint64_t digits = is_signed ? bits - 1 : bits;
  if (digits >= 63) return value;
  const std::int64_t limit = std::int64_t{1} << digits;
  return most < limit && least >= -limit ? value : std::nullopt;
}

/// Of threadIdx, blockIdx, blockDim or gridDim.
MaybeLinear ExactWalk::component(const clang::Expr* expression) {
  const clang::Expr* object = nullptr;
  std::string which;
  if (const auto* pseudo = dyn_cast<clang::PseudoObjectExpr>(expression)) {
    const auto* property = dyn_cast<clang::MSPropertyRefExpr>(pseudo->getSyntacticForm()->IgnoreParens());
    if (property == nullptr) return std::nullopt;
    object = property->getBaseExpr()->IgnoreParenImpCasts();
    which = property->getPropertyDecl()->getNameAsString();
    if (const auto* once = dyn_cast<clang::OpaqueValueExpr>(object)) object = once->getSourceExpr();
  } else if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    object = member->getBase();
    which = member->getMemberDecl()->getNameAsString();
  }
  const auto* base = object == nullptr ? nullptr : dyn_cast<clang::DeclRefExpr>(object->IgnoreParenImpCasts());
  if (base == nullptr || base->getDecl()->getIdentifier() == nullptr || which.size() != 1 || which[0] < 'x' ||
      which[0] > 'z')
    return std::nullopt;
  const llvm::StringRef name = base->getDecl()->getName();
  const auto i = static_cast<unsigned>(which[0] - 'x');
  if (name == "threadIdx") return components_[i];
  if (name == "blockIdx") return components_[3 + i];
  if (name == "blockDim") return constant(launch_.block[i]);
  if (name == "gridDim") return constant(launch_.grid[i]);
  return std::nullopt;
}

MaybeLinear ExactWalk::value(const clang::Expr* expression) {
  expression = expression->IgnoreParens();
  if (const auto* full = dyn_cast<clang::FullExpr>(expression)) return value(full->getSubExpr());
  if (const auto* made = dyn_cast<clang::MaterializeTemporaryExpr>(expression)) return value(made->getSubExpr());
  if (!is_number(expression->getType())) return std::nullopt;
  if (expression->getType()->isIntegralOrEnumerationType() && !expression->isValueDependent()) {
    clang::Expr::EvalResult known;
    if (expression->EvaluateAsInt(known, context_) && known.Val.getInt().isRepresentableByInt64())
      return constant(known.Val.getInt().getExtValue());
  }
  if (clang::isa<clang::PseudoObjectExpr>(expression)) return component(expression);
  if (clang::isa<clang::CXXThisExpr>(expression)) return this_;
  if (clang::isa<clang::CastExpr>(expression)) return value_of_cast(expression);
  if (clang::isa<clang::BinaryOperator>(expression)) return value_of_binary(expression);
  if (const auto* list = dyn_cast<clang::InitListExpr>(expression))
    return list->getNumInits() == 1 ? value(list->getInit(0)) : std::nullopt;
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression)) {
    if (unary->getOpcode() == clang::UO_AddrOf) return place(unary->getSubExpr());
    if (unary->getOpcode() == clang::UO_Plus) return value(unary->getSubExpr());
    if (unary->getOpcode() != clang::UO_Minus) return std::nullopt;
    return fitting(sum(constant(0), value(unary->getSubExpr()), -1), unary->getType());
  }
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression)) {
    const Space before = space_;
    const Held held = assume(choice->getCond(), true);
    space_ = before;
    if (held == Held::Always) return value(choice->getTrueExpr());
    return held == Held::Never ? value(choice->getFalseExpr()) : std::nullopt;
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(expression)) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    const bool named = callee != nullptr && callee->getIdentifier() != nullptr && call->getNumArgs() == 2;
    if (named && (callee->getName() == "min" || callee->getName() == "max")) {
      const auto argument = [&](unsigned i) {
        const clang::Expr* given = call->getArg(i);
        return given->isGLValue() ? load(given) : value(given);
      };
      const MaybeLinear a = argument(0), b = argument(1);
      if (!a || !b) return std::nullopt;
      const bool least = callee->getName() == "min";
      if (space_.most(*a) <= space_.least(*b)) return least ? a : b;
      if (space_.most(*b) <= space_.least(*a)) return least ? b : a;
      return std::nullopt;
    }
    const auto known = results_.find(call);
    return known == results_.end() ? std::nullopt : fitting(known->second, call->getType());
  }
  return std::nullopt;
}

MaybeLinear ExactWalk::value_of_cast(const clang::Expr* expression) {
  const auto* cast = clang::cast<clang::CastExpr>(expression);
  switch (cast->getCastKind()) {
    case clang::CK_LValueToRValue:
      return load(cast->getSubExpr());
    case clang::CK_IntegralCast:
    case clang::CK_PointerToIntegral:
      return fitting(value(cast->getSubExpr()), cast->getType());
    case clang::CK_NoOp:
    case clang::CK_BitCast:
    case clang::CK_IntegralToPointer:
    case clang::CK_AddressSpaceConversion:
      return cast->getSubExpr()->isGLValue() ? std::nullopt : value(cast->getSubExpr());
    case clang::CK_NullToPointer:
      return constant(0);
    case clang::CK_ArrayToPointerDecay:
      return place(cast->getSubExpr());
    default:
      return std::nullopt;
  }
}

MaybeLinear ExactWalk::value_of_binary(const clang::Expr* expression) {
  const auto* binary = clang::cast<clang::BinaryOperator>(expression);
  if (!binary->isAdditiveOp() && !binary->isMultiplicativeOp() && !binary->isShiftOp()) return std::nullopt;
  MaybeLinear left = value(binary->getLHS()), right = value(binary->getRHS());
  if (!left || !right) return std::nullopt;
  const clang::QualType type = binary->getType();
  const bool both = left->terms.empty() && right->terms.empty();
  switch (binary->getOpcode()) {
    case clang::BO_Add:
    case clang::BO_Sub: {
      const std::int64_t sign = binary->getOpcode() == clang::BO_Add ? 1 : -1;
      if (!type->isPointerType()) {
        if (binary->getLHS()->getType()->isPointerType()) return std::nullopt;  // how far from each other
        return fitting(sum(left, right, sign), type);
      }
      if (binary->getRHS()->getType()->isPointerType()) std::swap(left, right);
      const auto step = element_of(type, context_);
      return step ? sum(left, right, sign * *step) : std::nullopt;
    }
    case clang::BO_Mul:
      return fitting(product(left, right), type);
    case clang::BO_Shl:
      if (!right->terms.empty() || right->constant < 0 || right->constant > 40) return std::nullopt;
      return fitting(product(left, constant(std::int64_t{1} << right->constant)), type);
    case clang::BO_Div:
    case clang::BO_Rem:
      if (!both || right->constant == 0 || right->constant == -1) return std::nullopt;
      return constant(binary->getOpcode() == clang::BO_Div ? left->constant / right->constant
                                                           : left->constant % right->constant);
    case clang::BO_Shr:
      if (!both || left->constant < 0 || right->constant < 0 || right->constant > 62) return std::nullopt;
      return constant(left->constant >> right->constant);
    default:
      return std::nullopt;
  }
}

MaybeLinear ExactWalk::place(const clang::Expr* expression) {
  expression = expression->IgnoreParens();
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(expression)) {
    const auto known = known_.find(name->getDecl());
    return known == known_.end() ? std::nullopt : known->second.place;
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field == nullptr || field->isBitField() || field->getParent()->isInvalidDecl()) return std::nullopt;
    const MaybeLinear object = member->isArrow() ? value(member->getBase()) : place(member->getBase());
    const std::uint64_t offset =
        context_.getASTRecordLayout(field->getParent()).getFieldOffset(field->getFieldIndex()) / 8;
    const MaybeLinear at = sum(object, constant(static_cast<std::int64_t>(offset)));
    if (!at || !field->getType()->isReferenceType()) return at;
    return std::nullopt;
  }
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    const auto step = element_of(element->getBase()->getType(), context_);
    return step ? sum(value(element->getBase()), value(element->getIdx()), *step) : std::nullopt;
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression))
    return unary->getOpcode() == clang::UO_Deref ? value(unary->getSubExpr()) : std::nullopt;
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression))
    return cast->getCastKind() == clang::CK_NoOp ? place(cast->getSubExpr()) : std::nullopt;
  const auto* call = dyn_cast<clang::CallExpr>(expression);
  const auto result = call == nullptr ? results_.end() : results_.find(call);
  return result == results_.end() ? std::nullopt : result->second;
}

MaybeLinear ExactWalk::load(const clang::Expr* glvalue) {
  glvalue = glvalue->IgnoreParens();
  if (const auto* cast = dyn_cast<clang::CastExpr>(glvalue); cast != nullptr && cast->getCastKind() == clang::CK_NoOp)
    return load(cast->getSubExpr());
  const clang::QualType type = glvalue->getType();
  if (!is_number(type)) return std::nullopt;
  if (const auto* made = dyn_cast<clang::MaterializeTemporaryExpr>(glvalue)) return value(made->getSubExpr());
  if (is_changed(glvalue)) return std::nullopt;
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(glvalue)) {
    if (const auto known = known_.find(name->getDecl()); known != known_.end() && known->second.value)
      return known->second.value;
  }
  if (MaybeLinear of_thread = component(glvalue)) return of_thread;
  MaybeLinear at = place(glvalue);
  if (!at) return std::nullopt;
  at = space_.folded(*at);
  if (!at->terms.empty()) {
    // Which entry of a table it is, one component says: all() looks at each of its values alone.
    for (Component i = 0; i < kComponents && type->isPointerType(); ++i)
      if (at->terms.size() == 1 && components_[i].terms.contains(at->terms.begin()->first)) split_ = i;
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(context_.getTypeSizeInChars(type).getQuantity());
  if (size > sizeof(std::uint64_t)) return std::nullopt;
  const auto bits = launch_.load(static_cast<std::uint64_t>(at->constant), size);
  if (!bits) return std::nullopt;
  auto number = static_cast<std::int64_t>(*bits);
  if (type->isSignedIntegerOrEnumerationType() && size < sizeof number) {
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    number = static_cast<std::int64_t>(*bits << unused) >> unused;
  }
  return fitting(constant(number), type);
}

ExactWalk::Held ExactWalk::assume(const clang::Expr* condition, bool holds) {
  condition = condition->IgnoreParenImpCasts();
  if (const auto* full = dyn_cast<clang::FullExpr>(condition)) return assume(full->getSubExpr(), holds);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(condition);
      unary != nullptr && unary->getOpcode() == clang::UO_LNot)
    return assume(unary->getSubExpr(), !holds);
  const auto* binary = dyn_cast<clang::BinaryOperator>(condition);
  if (binary != nullptr && binary->isLogicalOp()) {
    const bool all = (binary->getOpcode() == clang::BO_LAnd) == holds;
    const Space before = space_;
    const Held first = assume(binary->getLHS(), holds);
    // Of a disjunction one side alone would have to decide.
    if (!all) space_ = before;
    if (first == (all ? Held::Never : Held::Always)) return first;
    const Held second = assume(binary->getRHS(), holds);
    if (second == (all ? Held::Never : Held::Always)) return second;
    if (first == (all ? Held::Always : Held::Never)) return second;
    if (second == (all ? Held::Always : Held::Never)) {
      if (!all) static_cast<void>(assume(binary->getLHS(), holds));
      return first;
    }
    return all && first == Held::Sometimes && second == Held::Sometimes ? Held::Sometimes : Held::Unknown;
  }
  if (binary != nullptr && binary->isComparisonOp())
    return assume_comparison(*binary->getLHS(), *binary->getRHS(), binary->getOpcode(), holds);
  if (condition->getType()->isBooleanType() || !is_number(condition->getType())) {
    clang::Expr::EvalResult known;
    bool result = false;
    if (!condition->isValueDependent() && condition->EvaluateAsBooleanCondition(result, context_))
      return result == holds ? Held::Always : Held::Never;
    if (!condition->getType()->isBooleanType() || !condition->isGLValue()) return Held::Unknown;
  }
  const MaybeLinear is = condition->isGLValue() ? load(condition) : value(condition);
  return is ? space_.assume(space_.folded(*is), Space::Sign::Equal, !holds) : Held::Unknown;
}

ExactWalk::Held ExactWalk::assume_comparison(const clang::Expr& left, const clang::Expr& right, int op, bool holds) {
  const MaybeLinear a = value(&left), b = value(&right);
  if (!a || !b) return Held::Unknown;
  const bool equality = op == clang::BO_EQ || op == clang::BO_NE;
  const bool swapped = op == clang::BO_GT || op == clang::BO_GE;
  if (!equality && !swapped && op != clang::BO_LT && op != clang::BO_LE) return Held::Unknown;
  const MaybeLinear difference = swapped ? sum(b, a, -1) : sum(a, b, -1);
  if (!difference) return Held::Unknown;
  if (equality) return space_.assume(space_.folded(*difference), Space::Sign::Equal, holds == (op == clang::BO_EQ));
  const bool strict = op == clang::BO_LT || op == clang::BO_GT;
  return space_.assume(space_.folded(*difference), strict ? Space::Sign::Less : Space::Sign::LessOrEqual, holds);
}

}  // namespace streamsan::analyzer::device
