// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of indices. device_bounds.h explains it.
#include "analyzer/lowering/device_bounds.h"

#include <algorithm>

#include "analyzer/lowering/device_memory.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::device {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr unsigned kDeepest = 12;      ///< of an expression, through variables
constexpr unsigned kMostSteps = 1000;  ///< of one question
constexpr std::int64_t kFewMost = 64;  ///< `i < 4` is a margin, `i < 1024` a size

/// What wraps an expression without changing its value; nullptr: nothing does.
const clang::Expr* unwrapped(const clang::Expr& expression) {
  if (const auto* paren = dyn_cast<clang::ParenExpr>(&expression)) return paren->getSubExpr();
  if (const auto* full = dyn_cast<clang::FullExpr>(&expression)) return full->getSubExpr();
  if (const auto* made = dyn_cast<clang::MaterializeTemporaryExpr>(&expression)) return made->getSubExpr();
  if (const auto* parameter = dyn_cast<clang::SubstNonTypeTemplateParmExpr>(&expression))
    return parameter->getReplacement();
  const auto* cast = dyn_cast<clang::CastExpr>(&expression);
  return cast != nullptr && cast->getSubExpr()->getType()->isScalarType() ? cast->getSubExpr() : nullptr;
}

const clang::Expr* plain(const clang::Expr* expression) {
  while (expression != nullptr) {
    const clang::Expr* inside = unwrapped(*expression);
    if (inside == nullptr) break;
    expression = inside;
  }
  return expression;
}

/// Where `variable` is named.
const clang::Expr* name_in(const clang::Stmt* statement, const clang::ValueDecl& variable) {
  if (statement == nullptr) return nullptr;
  const auto* name = dyn_cast<clang::DeclRefExpr>(statement);
  if (name != nullptr && name->getDecl() == &variable) return name;
  for (const clang::Stmt* child : statement->children())
    if (const clang::Expr* found = name_in(child, variable)) return found;
  return nullptr;
}

Bound at_least_zero() { return {.number = 0}; }

Bound held(Bound bound) {
  bound.single = true;
  return bound;
}

clang::BinaryOperatorKind opposite(clang::BinaryOperatorKind op) {
  return clang::BinaryOperator::negateComparisonOp(op);
}
clang::BinaryOperatorKind mirrored(clang::BinaryOperatorKind op) {
  return clang::BinaryOperator::reverseComparisonOp(op);
}

/// Of what a pointer points to, in bytes.
std::int64_t step_of(clang::QualType pointer, const clang::ASTContext& context) {
  const clang::QualType pointee = pointer->getPointeeType();
  if (pointee.isNull() || pointee->isIncompleteType() || pointee->isFunctionType() || pointee->isDependentType())
    return 1;
  return std::max<std::int64_t>(1, context.getTypeSizeInChars(pointee).getQuantity());
}

/// Of a member in its object, in bytes.
std::optional<std::int64_t> offset_of(const clang::MemberExpr& member, const clang::ASTContext& context) {
  const auto* field = dyn_cast<clang::FieldDecl>(member.getMemberDecl());
  if (field == nullptr || field->getType()->isReferenceType() || field->isInvalidDecl()) return std::nullopt;
  const clang::RecordDecl* record = field->getParent();
  if (record->isInvalidDecl() || record->isDependentContext() || !record->isCompleteDefinition()) return std::nullopt;
  return context.toCharUnitsFromBits(static_cast<std::int64_t>(context.getFieldOffset(field))).getQuantity();
}

}  // namespace

Bounds::Bounds(const clang::FunctionDecl& definition, const MovedFields* moved)
    : function_(definition), context_(definition.getASTContext()), moved_(moved), changes_(definition) {}

bool Bounds::goes_on(unsigned deep) const {
  if (deep == 0) steps_ = 0;
  return deep <= kDeepest && ++steps_ <= kMostSteps;
}

bool Bounds::is_changed(const clang::ValueDecl& variable) const {
  return unknown_.contains(&variable) || changes_.any(variable);
}

std::optional<NamedPart> component_of(const clang::PseudoObjectExpr& expression) {
  const auto* property = dyn_cast<clang::MSPropertyRefExpr>(expression.getSyntacticForm()->IgnoreParens());
  if (property == nullptr) return std::nullopt;
  const clang::Expr* object = property->getBaseExpr()->IgnoreParenImpCasts();
  if (const auto* once = dyn_cast<clang::OpaqueValueExpr>(object)) object = once->getSourceExpr();
  const auto* base = clang::dyn_cast_or_null<clang::DeclRefExpr>(object);
  if (base == nullptr) return std::nullopt;
  return NamedPart{base->getDecl(), property->getPropertyDecl()->getNameAsString()};
}

std::optional<Bounds::Variable> Bounds::variable(const clang::Expr* expression) const {
  expression = plain(expression);
  if (const auto* pseudo = clang::dyn_cast_or_null<clang::PseudoObjectExpr>(expression)) return component_of(*pseudo);
  if (const auto* member = clang::dyn_cast_or_null<clang::MemberExpr>(expression)) {
    const auto* base = dyn_cast<clang::DeclRefExpr>(member->getBase()->IgnoreParenImpCasts());
    if (base == nullptr || base->getDecl()->getType()->isPointerType()) return std::nullopt;
    return Variable{base->getDecl(), member->getMemberDecl()->getNameAsString()};
  }
  const auto* reference = clang::dyn_cast_or_null<clang::DeclRefExpr>(expression);
  if (reference == nullptr || !reference->getType()->isIntegralOrEnumerationType()) return std::nullopt;
  return Variable{reference->getDecl(), {}};
}

MaybeBound Bounds::fact(const Variable& variable) const {
  MaybeBound best;
  for (const auto& [of, bound] : facts_) {
    if (of != variable) continue;
    // One value says the most, then what a parameter says, then the greatest number.
    const auto rank = [](const Bound& b) { return b.single ? 2 : b.number ? 0 : 1; };
    const bool greater = best && best->number && bound.number && *bound.number > *best->number;
    if (!best || rank(bound) > rank(*best) || (rank(bound) == rank(*best) && greater)) best = bound;
  }
  return best;
}

MaybeBound Bounds::initial(const clang::ValueDecl& variable, unsigned deep, bool of_pointer) const {
  if (unknown_.contains(&variable)) return std::nullopt;
  if (const auto* parameter = dyn_cast<clang::ParmVarDecl>(&variable)) {
    if (of_pointer) return constant_bound(0);
    if (parameter->getDeclContext() != &function_) return std::nullopt;
    return Bound{.parameters = {parameter->getFunctionScopeIndex()}, .few = false, .plain = true};
  }
  const auto* local = dyn_cast<clang::VarDecl>(&variable);
  if (local == nullptr || !local->hasInit() || !local->isLocalVarDecl()) return std::nullopt;
  return of_pointer ? pointer(local->getInit(), deep + 1) : number(local->getInit(), deep + 1);
}

MaybeBound Bounds::named(const clang::DeclRefExpr& name, unsigned deep, bool of_pointer) const {
  const clang::ValueDecl& variable = *name.getDecl();
  const std::optional<unsigned> here = changes_.position(&name);
  const std::vector<Change>& changes = changes_.of(variable);
  // What the last assignment in front says, whatever there was before.
  const auto decides = [&](const Change& change) {
    return !change.loop && change.kind != Change::Kind::Add && (!here || *here > change.at);
  };
  const auto last = std::find_if(changes.rbegin(), changes.rend(), decides);
  MaybeBound now = last == changes.rend() ? initial(variable, deep, of_pointer) : std::nullopt;
  const auto first = last == changes.rend() ? changes.begin() : std::prev(last.base());
  for (const Change& change : std::ranges::subrange(first, changes.end())) {
    if (!change.loop) {
      if (!here || *here > change.at) now = after(change, now, variable, deep);
      continue;
    }
    const Loop& loop = changes_.loop(*change.loop);
    if (here && *here < loop.begin) continue;
    if (change.grows && here && *here < change.at) {
      // What grows from round to round begins where it began.
      if (!now) continue;
      now->single = now->fixed = false;
      now->loose = now->plain;
    } else {
      now = of_pointer && change.grows ? MaybeBound(moved_bound()) : std::nullopt;
    }
  }
  return now;
}

/// Behind a change that no loop repeats.
MaybeBound Bounds::after(const Change& change, const MaybeBound& before, const clang::ValueDecl& variable,
                         unsigned deep) const {
  const bool of_pointer = variable.getType()->isPointerType();
  switch (change.kind) {
    case Change::Kind::Moved:
      return of_pointer ? MaybeBound(moved_bound()) : std::nullopt;
    case Change::Kind::Other:
      return std::nullopt;
    case Change::Kind::Set:
      if (change.perhaps) return std::nullopt;
      return of_pointer ? pointer(change.value, deep + 1) : number(change.value, deep + 1);
    case Change::Kind::Add:
      break;
  }
  MaybeBound added = change.value == nullptr ? constant_bound(1) : number(change.value, deep + 1);
  if (of_pointer) added = times(added, constant_bound(step_of(variable.getType(), context_)));
  if (!change.perhaps || (added && added->number == 0)) return plus(before, added);
  return of_pointer && leaves_begin(added) ? MaybeBound(moved_bound()) : std::nullopt;
}

bool is_index(const NamedPart& variable) {
  const clang::IdentifierInfo* name = variable.first->getIdentifier();
  return name != nullptr && (name->getName() == "threadIdx" || name->getName() == "blockIdx");
}

const std::optional<Bounds::Constant>& Bounds::constant(const clang::Expr* expression) const {
  const auto [known, fresh] = constants_.try_emplace(expression);
  clang::Expr::EvalResult value;
  if (fresh && expression->getType()->isIntegralOrEnumerationType() && expression->EvaluateAsInt(value, context_)) {
    const llvm::APSInt& number = value.Val.getInt();
    known->second = number.isRepresentableByInt64() ? Constant{true, number.getExtValue()} : Constant{};
  }
  return known->second;
}

MaybeBound Bounds::number(const clang::Expr* expression, unsigned deep) const {
  if (expression == nullptr || expression->isValueDependent() || !goes_on(deep)) return std::nullopt;
  if (const std::optional<Constant>& value = constant(expression))
    return value->fits ? MaybeBound(constant_bound(value->number)) : std::nullopt;
  expression = plain(expression);
  if (expression == nullptr) return std::nullopt;
  if (const std::optional<Variable> named = variable(expression)) {
    if (const MaybeBound known = fact(*named)) return known;
    if (is_index(*named)) return at_least_zero();
    if (is_one_in_memory(expression)) return moved_bound();
    const auto* name = dyn_cast<clang::DeclRefExpr>(expression);
    return name != nullptr ? this->named(*name, deep, false) : std::nullopt;
  }
  if (const auto* called = dyn_cast<clang::CallExpr>(expression)) return call(*called, deep);
  const auto* binary = dyn_cast<clang::BinaryOperator>(expression);
  if (binary == nullptr) return is_one_in_memory(expression) ? MaybeBound(moved_bound()) : std::nullopt;
  const MaybeBound left = number(binary->getLHS(), deep + 1), right = number(binary->getRHS(), deep + 1);
  const bool by_constant = right && right->fixed && right->number;
  switch (binary->getOpcode()) {
    case clang::BO_Add:
      return plus(left, right);
    case clang::BO_Sub: {
      if (!by_constant) return std::nullopt;
      MaybeBound less = plus(left, constant_bound(-*right->number));
      if (less && less->number && *less->number < 0) less->number = 0;  // an index is not negative
      return less;
    }
    case clang::BO_Mul:
      return times(left, right);
    case clang::BO_Shl:
      return by_constant && *right->number >= 0 && *right->number < 32
                 ? times(left, constant_bound(std::int64_t{1} << *right->number))
                 : std::nullopt;
    case clang::BO_Div:
    case clang::BO_Shr:
    case clang::BO_Rem:
    case clang::BO_And:
      // Of something that may be 0 it may be 0, and of the rest nobody asks.
      return left && left->number == 0 ? MaybeBound(at_least_zero()) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Of a function that only returns what it computes of its arguments, and of a thread's number.
MaybeBound Bounds::call(const clang::CallExpr& call, unsigned deep) const {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr) return std::nullopt;
  const clang::IdentifierInfo* name = callee->getIdentifier();
  if (name != nullptr && name->getName() == "thread_rank") return Bound{.number = 0};
  if (name != nullptr && name->getName() == "max" && call.getNumArgs() == 2) {
    const MaybeBound a = number(call.getArg(0), deep + 1), b = number(call.getArg(1), deep + 1);
    const bool known = a && b && a->number && b->number;
    return known ? MaybeBound(Bound{.number = std::max(*a->number, *b->number)}) : std::nullopt;
  }
  return result(call, Asked::Number, deep);
}

/// `&place`, `*p++`, `*++p`.
MaybeBound Bounds::stepped(const clang::UnaryOperator& unary, unsigned deep) const {
  const clang::Expr* of = unary.getSubExpr();
  if (unary.getOpcode() == clang::UO_AddrOf) return place(of, deep + 1);
  if (unary.getOpcode() == clang::UO_PostInc) return pointer(of, deep + 1);
  if (unary.getOpcode() != clang::UO_PreInc) return std::nullopt;
  return plus(pointer(of, deep + 1), constant_bound(step_of(of->getType(), context_)));
}

MaybeBound Bounds::pointer(const clang::Expr* expression, unsigned deep) const {
  if (expression == nullptr || expression->isValueDependent() || !goes_on(deep)) return std::nullopt;
  expression = expression->IgnoreParens();
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression)) {
    const clang::Expr* of = cast->getSubExpr();
    if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) return place(of, deep + 1);
    return of->getType()->isPointerType() || of->getType()->isArrayType() ? pointer(of, deep + 1) : std::nullopt;
  }
  if (const auto* full = dyn_cast<clang::FullExpr>(expression)) return pointer(full->getSubExpr(), deep + 1);
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression)) return named(*reference, deep, true);
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    return moved_ != nullptr && moved_->contains(field) ? moved_bound() : constant_bound(0);
  }
  if (isa<clang::CXXThisExpr>(expression)) return constant_bound(0);
  if (const auto* called = dyn_cast<clang::CallExpr>(expression)) return result(*called, Asked::Pointer, deep);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression)) return stepped(*unary, deep);
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(expression);
      binary && binary->getOpcode() == clang::BO_Add) {
    const bool first = binary->getLHS()->getType()->isPointerType();
    const clang::Expr* base = first ? binary->getLHS() : binary->getRHS();
    const MaybeBound steps = number(first ? binary->getRHS() : binary->getLHS(), deep + 1);
    return plus(pointer(base, deep + 1), times(steps, constant_bound(step_of(base->getType(), context_))));
  }
  return std::nullopt;
}

MaybeBound Bounds::place(const clang::Expr* expression, unsigned deep) const {
  if (expression == nullptr || expression->isValueDependent() || !goes_on(deep)) return std::nullopt;
  expression = expression->IgnoreParenImpCasts();
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    const std::int64_t unit = step_of(element->getBase()->getType(), context_);
    const MaybeBound base = pointer(element->getBase(), deep + 1), index = number(element->getIdx(), deep + 1);
    if (!index && base == constant_bound(0) && looked_up(element->getIdx(), deep + 1))
      return Bound{.few = false, .spread = true};
    return plus(base, times(index, constant_bound(unit)));
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression))
    return unary->getOpcode() == clang::UO_Deref ? pointer(unary->getSubExpr(), deep + 1) : std::nullopt;
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    const MaybeBound object =
        member->isArrow() ? pointer(member->getBase(), deep + 1) : place(member->getBase(), deep + 1);
    const std::optional<std::int64_t> behind = offset_of(*member, context_);
    return behind ? plus(object, constant_bound(*behind)) : std::nullopt;
  }
  if (const auto* called = dyn_cast<clang::CallExpr>(expression)) return result(*called, Asked::Place, deep);
  const auto* named = dyn_cast<clang::DeclRefExpr>(expression);
  return named != nullptr && device_variable(*named->getDecl()) != nullptr ? MaybeBound(constant_bound(0))
                                                                           : std::nullopt;
}

void Bounds::compare(const clang::Expr* condition, bool holds, std::vector<Compared>& out) const {
  const auto* binary = dyn_cast<clang::BinaryOperator>(condition);
  if (binary == nullptr || !binary->isComparisonOp() || binary->getOpcode() == clang::BO_Cmp) {
    // `if (i)`, `if (!i)`
    if (const std::optional<Variable> named = variable(condition))
      out.push_back({*named, holds ? Bound{.number = 1} : Bound{.number = 0, .single = true}, !holds});
    return;
  }
  for (const bool swapped : {false, true}) {
    const std::optional<Variable> named = variable(swapped ? binary->getRHS() : binary->getLHS());
    if (!named) continue;
    const MaybeBound other = number(swapped ? binary->getLHS() : binary->getRHS());
    clang::BinaryOperatorKind op = binary->getOpcode();
    if (swapped) op = mirrored(op);
    if (!holds) op = opposite(op);
    // Names whose bound says something are compared with what it says.
    Bound least = other.value_or(Bound{.few = false});
    least.fixed = false;
    const bool few = other && other->fixed && *other->number <= kFewMost;
    switch (op) {
      case clang::BO_EQ:
        out.push_back({*named, held(least), true});
        break;
      case clang::BO_GE:
        out.push_back({*named, other ? MaybeBound(least) : std::nullopt, false});
        break;
      case clang::BO_GT:
        out.push_back({*named, other ? plus(least, constant_bound(1)) : std::nullopt, false});
        break;
      case clang::BO_NE:
        out.push_back({*named, few && *other->number == 0 ? MaybeBound(Bound{.number = 1}) : std::nullopt, false});
        break;
      default:
        out.push_back({*named, few ? MaybeBound(Bound{.number = 0, .single = true}) : std::nullopt, few});
        break;
    }
  }
}

bool Bounds::terms(const clang::Expr* condition, bool holds, std::vector<Compared>& out) const {
  condition = plain(condition);
  if (condition == nullptr) return true;
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(condition); unary && unary->getOpcode() == clang::UO_LNot)
    return terms(unary->getSubExpr(), !holds, out);
  const auto* binary = dyn_cast<clang::BinaryOperator>(condition);
  if (binary == nullptr || !binary->isLogicalOp()) {
    compare(condition, holds, out);
    return true;
  }
  const bool all = terms(binary->getLHS(), holds, out) & terms(binary->getRHS(), holds, out);
  return all && (binary->getOpcode() == clang::BO_LAnd) == holds;
}

void Bounds::assume(const clang::Expr* condition, bool holds) {
  if (condition == nullptr || condition->isValueDependent()) return;
  const clang::Expr* whole = plain(condition);
  // A conjunction may have a disjunction among its parts.
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(whole);
      binary && binary->isLogicalOp() && (binary->getOpcode() == clang::BO_LAnd) == holds) {
    assume(binary->getLHS(), holds);
    return assume(binary->getRHS(), holds);
  }
  std::vector<Compared> compared;
  // What a launch gives counts as it is: a size that is tested for 0 is still a size.
  const bool kernel = function_.hasAttr<clang::CUDAGlobalAttr>();
  const auto kept = [&](const Variable& variable) {
    return !unknown_.contains(variable.first) &&
           changes_.only_grows(*variable.first, name_in(whole, *variable.first)) &&
           !(kernel && isa<clang::ParmVarDecl>(variable.first));
  };
  const bool all = terms(whole, holds, compared);
  const bool limits = all && compared.size() == 1 && compared[0].at_least && kept(compared[0].variable);
  guard(whole, holds, limits ? std::optional(compared[0].variable) : std::nullopt);
  if (all) {
    for (const Compared& one : compared)
      if (one.at_least && kept(one.variable)) facts_.emplace_back(one.variable, *one.at_least);
    return;
  }
  // One of them holds: with `i == 0 || i == n - 1` all are at the ends.
  if (std::ranges::none_of(compared, &Compared::single)) return;
  for (const Compared& one : compared)
    if (kept(one.variable)) facts_.emplace_back(one.variable, Bound{.number = 0, .single = true});
}

}  // namespace streamsan::analyzer::device
