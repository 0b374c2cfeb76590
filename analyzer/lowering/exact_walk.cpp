// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements, and what in them touches memory.
//
// A statement counts if all threads get to it for which the conditions around it hold. Behind one by which some threads
// leave, where it is not known which, nothing counts any more.
#include "analyzer/lowering/exact_walk.h"

#include <algorithm>

#include "analyzer/lowering/device_limits.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer {
namespace device {
namespace {

using clang::dyn_cast;
using clang::isa;

constexpr std::size_t kMostStatements = 20'000;
constexpr unsigned kDeepestRead = 6;
constexpr std::int64_t kMostWrittenOut = 32;  ///< rounds, or blocks
constexpr std::size_t kMostFound = 256;

template <typename... Kinds>
bool contains(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (isa<Kinds...>(statement)) return true;
  if (isa<clang::LambdaExpr>(statement)) return false;
  return std::ranges::any_of(statement->children(), [](const clang::Stmt* child) { return contains<Kinds...>(child); });
}

/// Takes a pointer out of memory, by an index.
bool reads_table(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  const auto* cast = dyn_cast<clang::ImplicitCastExpr>(statement);
  if (cast != nullptr && cast->getCastKind() == clang::CK_LValueToRValue && cast->getType()->isPointerType() &&
      isa<clang::ArraySubscriptExpr>(cast->getSubExpr()->IgnoreParens()))
    return true;
  return std::ranges::any_of(statement->children(), reads_table);
}

const clang::ValueDecl* named(const clang::Expr* expression) {
  const auto* name = dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenCasts());
  return name == nullptr ? nullptr : name->getDecl();
}

/// What a glvalue is a part of, from inside: fields, and the variable. Not what a pointer leads to.
template <typename Visit>
void for_each_whole(const clang::Expr* glvalue, Visit visit) {
  for (;;) {
    glvalue = glvalue->IgnoreParenCasts();
    if (const auto* member = dyn_cast<clang::MemberExpr>(glvalue)) {
      visit(*member->getMemberDecl());
      if (member->isArrow()) return;
      glvalue = member->getBase();
    } else if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(glvalue)) {
      glvalue = element->getBase()->IgnoreParenImpCasts();
      if (!glvalue->getType()->isArrayType()) return;
    } else {
      if (const clang::ValueDecl* variable = named(glvalue)) visit(*variable);
      return;
    }
  }
}

/// Of a variable that the thread has for itself.
bool is_own(const clang::Expr* glvalue) {
  glvalue = glvalue->IgnoreParens();
  while (const auto* member = dyn_cast<clang::MemberExpr>(glvalue)) {
    if (member->isArrow() || member->getMemberDecl()->getType()->isReferenceType()) return false;
    glvalue = member->getBase()->IgnoreParens();
  }
  const auto* name = dyn_cast<clang::DeclRefExpr>(glvalue);
  return name != nullptr && !name->getDecl()->getType()->isReferenceType();
}

/// i, of `for (int i = ...; ...; ++i)`.
const clang::VarDecl* counter_of(const clang::ForStmt& loop) {
  const auto* declared = clang::dyn_cast_or_null<clang::DeclStmt>(loop.getInit());
  return declared != nullptr && declared->isSingleDecl() ? dyn_cast<clang::VarDecl>(declared->getSingleDecl())
                                                         : nullptr;
}

/// Is it the counter that the loop's last part changes?
bool counts(const clang::Expr* increment, const clang::VarDecl* counter) {
  if (counter == nullptr || increment == nullptr) return false;
  const clang::Expr* plain = increment->IgnoreParenImpCasts();
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(plain))
    return unary->isIncrementOp() && named(unary->getSubExpr()) == counter;
  const auto* add = dyn_cast<clang::CompoundAssignOperator>(plain);
  return add != nullptr && add->getOpcode() == clang::BO_AddAssign && named(add->getLHS()) == counter;
}

}  // namespace

bool ExactWalk::ends_thread(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* body = nullptr;
  if (!function.hasBody(body) || body->isDependentContext()) return false;
  const auto [known, is_new] = ends_.try_emplace(body, false);
  if (!is_new) return known->second;
  const bool result = ends_thread_in(body->getBody());
  return ends_[body] = result;
}

bool ExactWalk::ends_thread_in(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (device::ends_thread(*statement)) return true;
  const auto* call = dyn_cast<clang::CallExpr>(statement);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  return (callee != nullptr && ends_thread(*callee)) ||
         std::ranges::any_of(statement->children(), [this](const clang::Stmt* child) { return ends_thread_in(child); });
}

bool ExactWalk::leaves_somewhere(const clang::Stmt* statement) {
  if (contains<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt, clang::CXXThrowExpr>(
          statement))
    return true;
  // Few kernels end threads by other means.
  return ends_thread(kernel_) && ends_thread_in(statement);
}

ExactWalk::ExactWalk(const clang::FunctionDecl& kernel, const KnownLaunch& launch)
    : kernel_(kernel), launch_(launch), context_(kernel.getASTContext()) {}

std::vector<ExactBytes> ExactWalk::all() {
  run(std::nullopt, 0);
  if (const auto split = split_) {
    const std::uint32_t count = *split < 3 ? launch_.block[*split] : launch_.grid[*split - 3];
    for (std::int64_t at = 0; at < std::min<std::int64_t>(count, kMostWrittenOut); ++at) run(split, at);
  }
  return std::move(found_);
}

void ExactWalk::run(std::optional<Component> fixed, std::int64_t at) {
  space_ = {};
  known_.clear();
  alive_ = true;
  left_ = kMostStatements;
  for (Component i = 0; i < kComponents; ++i) {
    const std::uint32_t count = i < 3 ? launch_.block[i] : launch_.grid[i - 3];
    components_[i] = i == fixed ? Linear{.constant = at, .terms = {}} : space_.run_through(0, count);
  }
  for (const clang::ParmVarDecl* parameter : kernel_.parameters()) {
    const unsigned i = parameter->getFunctionScopeIndex();
    if (i >= launch_.arguments.size()) return;
    known_[parameter].place = Linear{.constant = static_cast<std::int64_t>(launch_.arguments[i]), .terms = {}};
  }
  if (read_.insert(&kernel_).second) note_changes(kernel_.getBody());
  walk(kernel_.getBody());
}

void ExactWalk::note_changes(const clang::Stmt* statement) {
  if (statement == nullptr) return;
  // A field that is changed in one object counts as changed in all.
  const auto change = [&](const clang::Expr* target) {
    bool first = true;
    for_each_whole(target, [&](const clang::ValueDecl& part) {
      if (std::exchange(first, false)) changed_.insert(&part);
    });
  };
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement)) {
    if (binary->isAssignmentOp()) change(binary->getLHS());
  } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(statement)) {
    if (unary->isIncrementDecrementOp() || unary->getOpcode() == clang::UO_AddrOf) change(unary->getSubExpr());
  } else if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
    const clang::FunctionDecl* body = nullptr;
    const clang::FunctionDecl* callee = call->getDirectCallee();
    const bool is_known = callee != nullptr && callee->hasBody(body);
    if (is_known && read_.insert(body).second) note_changes(body->getBody());
    const auto* method = clang::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
    const bool keeps_object =
        method != nullptr && (method->isStatic() || method->isConst() || (is_known && !method->isVirtual()));
    const auto* of_member = dyn_cast<clang::CXXMemberCallExpr>(call);
    if (of_member != nullptr && !keeps_object) change(of_member->getImplicitObjectArgument());
    const bool is_operator = isa<clang::CXXOperatorCallExpr>(call) && method != nullptr && !method->isStatic();
    for (const clang::Expr* argument : call->arguments()) {
      if (is_operator && argument == call->getArg(0) && keeps_object && !method->isCopyAssignmentOperator() &&
          !method->isMoveAssignmentOperator())
        continue;
      if (argument->isLValue() && !argument->getType().isConstQualified()) change(argument);
    }
  } else if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declaration : declarations->decls()) {
      const auto* variable = dyn_cast<clang::VarDecl>(declaration);
      if (variable != nullptr && variable->hasInit() && variable->getType()->isReferenceType() &&
          !variable->getType()->getPointeeType().isConstQualified())
        change(variable->getInit());
    }
  } else if (isa<clang::AsmStmt, clang::LambdaExpr>(statement)) {
    for (const clang::Stmt* child : statement->children())
      if (const auto* operand = clang::dyn_cast_or_null<clang::Expr>(child)) change(operand);
  }
  const auto* loop = dyn_cast<clang::ForStmt>(statement);
  const bool counted = loop != nullptr && counts(loop->getInc(), counter_of(*loop));
  for (const clang::Stmt* child : statement->children())
    if (!counted || child != loop->getInc()) note_changes(child);
}

bool ExactWalk::is_changed(const clang::Expr* glvalue) const {
  bool result = false;
  for_each_whole(glvalue, [&](const clang::ValueDecl& part) { result = result || changed_.contains(&part); });
  return result;
}

void ExactWalk::walk_children(const clang::Stmt& statement) {
  for (const clang::Stmt* child : statement.children()) walk(child);
}

void ExactWalk::walk(const clang::Stmt* statement) {
  if (statement == nullptr || !alive_ || left_ == 0) return;
  --left_;
  if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declaration : declarations->decls())
      if (const auto* variable = dyn_cast<clang::VarDecl>(declaration)) declare(*variable);
  } else if (const auto* branch = dyn_cast<clang::IfStmt>(statement)) {
    walk(branch->getInit());
    walk(branch->getConditionVariableDeclStmt());
    walk(branch->getCond());
    walk_choice(branch->getCond(), branch->getThen(), branch->getElse());
  } else if (const auto* loop = dyn_cast<clang::ForStmt>(statement)) {
    walk_for(*loop);
  } else if (isa<clang::WhileStmt, clang::DoStmt, clang::SwitchStmt, clang::CXXForRangeStmt, clang::CXXTryStmt>(
                 statement)) {
    if (contains<clang::ReturnStmt, clang::GotoStmt>(statement) || ends_thread_in(statement)) alive_ = false;
  } else if (const auto* result = dyn_cast<clang::ReturnStmt>(statement)) {
    if (const clang::Expr* what = result->getRetValue()) {
      what->isGLValue() ? walk_place(what) : walk(what);
      returned_ = what->isGLValue() ? place(what) : value(what);
    }
    alive_ = false;
  } else if (isa<clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt, clang::LabelStmt>(statement) ||
             device::ends_thread(*statement)) {
    alive_ = false;
  } else if (const auto* choice = dyn_cast<clang::ConditionalOperator>(statement)) {
    walk(choice->getCond());
    walk_choice(choice->getCond(), choice->getTrueExpr(), choice->getFalseExpr());
  } else if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement)) {
    walk(binary->isAssignmentOp() ? binary->getRHS() : binary->getLHS());
    if (binary->isAssignmentOp()) {
      access(*binary->getLHS(), ir::Mode::Write);
    } else if (binary->isLogicalOp()) {
      const bool both = binary->getOpcode() == clang::BO_LAnd;
      walk_choice(binary->getLHS(), both ? binary->getRHS() : nullptr, both ? nullptr : binary->getRHS());
    } else {
      walk(binary->getRHS());
    }
  } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(statement)) {
    if (unary->isIncrementDecrementOp())
      access(*unary->getSubExpr(), ir::Mode::Write);
    else if (unary->getOpcode() == clang::UO_AddrOf)
      walk_place(unary->getSubExpr());
    else
      walk(unary->getSubExpr());
  } else if (const auto* cast = dyn_cast<clang::CastExpr>(statement)) {
    if (cast->getCastKind() != clang::CK_LValueToRValue) return walk(cast->getSubExpr());
    access(*cast->getSubExpr(), ir::Mode::Read);
  } else if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
    walk_call(*call);
  } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(statement)) {
    const bool copies = made->getConstructor()->isCopyOrMoveConstructor() && made->getConstructor()->isTrivial() &&
                        made->getNumArgs() == 1 && made->getArg(0)->isGLValue();
    if (copies)
      access(*made->getArg(0), ir::Mode::Read);
    else
      walk_children(*made);
  } else if (!isa<clang::LambdaExpr, clang::UnaryExprOrTypeTraitExpr, clang::PseudoObjectExpr>(statement)) {
    walk_children(*statement);
  }
}

/// Of a glvalue: the indices and pointers by which it is found.
void ExactWalk::walk_place(const clang::Expr* expression) {
  const clang::Expr* plain = expression->IgnoreParens();
  if (const auto* cast = dyn_cast<clang::CastExpr>(plain); cast != nullptr && cast->isGLValue())
    return walk_place(cast->getSubExpr());
  if (const auto* member = dyn_cast<clang::MemberExpr>(plain))
    return member->isArrow() ? walk(member->getBase()) : walk_place(member->getBase());
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(plain)) {
    walk(element->getBase());
    return walk(element->getIdx());
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(plain); unary && unary->getOpcode() == clang::UO_Deref)
    return walk(unary->getSubExpr());
  if (!isa<clang::DeclRefExpr>(plain) && (isa<clang::CallExpr>(plain) || !expression->isGLValue())) walk(plain);
}

void ExactWalk::access(const clang::Expr& glvalue, ir::Mode mode) {
  walk_place(&glvalue);
  if (!is_own(&glvalue)) touch(place(&glvalue), glvalue.getType(), mode);
}

void ExactWalk::touch(const MaybeLinear& at, clang::QualType type, ir::Mode mode) {
  if (!alive_ || !at || found_.size() >= kMostFound) return;
  type = type.getNonReferenceType();
  // A pointer to volatile is a flag: host and device talk through it while the kernel runs, on purpose.
  if (type->isIncompleteType() || type->isDependentType() || type.isVolatileQualified()) return;
  const auto width = static_cast<std::uint64_t>(context_.getTypeSizeInChars(type).getQuantity());
  const auto bytes = space_.bytes(space_.folded(*at), width);
  if (!bytes) return;
  const auto same = [&](const ExactBytes& one) { return one.bytes == *bytes && one.mode == mode; };
  if (std::ranges::none_of(found_, same)) found_.push_back({.bytes = *bytes, .mode = mode});
}

void ExactWalk::declare(const clang::VarDecl& variable) {
  Known& known = known_[&variable];
  known = {};
  if (!variable.hasInit() || variable.isStaticLocal()) return;
  walk(variable.getInit());
  if (changed_.contains(&variable)) return;
  const clang::QualType type = variable.getType();
  if (type->isReferenceType()) {
    known_[&variable].place = place(variable.getInit());
  } else if (type->isIntegralOrEnumerationType() || type->isPointerType()) {
    MaybeLinear is = value(variable.getInit());
    if (is && !type->isPointerType()) is = space_.folded(*is);
    known_[&variable].value = std::move(is);
  }
}

void ExactWalk::walk_choice(const clang::Expr* condition, const clang::Stmt* yes, const clang::Stmt* no) {
  if (!alive_) return;
  const Space before = space_;
  const auto is_so = [&](bool holds) {
    space_.drop_conditions(before);
    return assume(condition, holds);
  };
  const auto walk_if = [&](bool holds, const clang::Stmt* branch) {
    const Held held = is_so(holds);
    if (held == Held::Always || held == Held::Sometimes) walk(branch);
    if (held == Held::Sometimes) alive_ = true;
    return held == Held::Always || held == Held::Never;
  };
  bool decided = walk_if(true, yes);
  decided |= walk_if(false, no);
  const bool alive = alive_;
  space_.drop_conditions(before);
  if (decided) return;
  // Who gets on for certain: by the branches that nobody leaves.
  const bool yes_goes_on = !leaves_somewhere(yes), no_goes_on = !leaves_somewhere(no);
  alive_ = alive;
  if (yes_goes_on && no_goes_on) return;
  const Held held = yes_goes_on ? is_so(true) : no_goes_on ? is_so(false) : Held::Never;
  alive_ = alive && (held == Held::Sometimes || held == Held::Always);
}

void ExactWalk::walk_for(const clang::ForStmt& loop) {
  const bool returns = contains<clang::ReturnStmt, clang::GotoStmt>(loop.getBody()) || ends_thread_in(loop.getBody());
  const bool ends_early = returns || contains<clang::BreakStmt>(loop.getBody());
  const clang::VarDecl* counter = counter_of(loop);
  const auto* condition = clang::dyn_cast_or_null<clang::BinaryOperator>(
      loop.getCond() == nullptr ? nullptr : loop.getCond()->IgnoreParens());
  const auto leave = [&] {
    if (returns) alive_ = false;
  };
  if (ends_early || counter == nullptr || condition == nullptr || changed_.contains(counter) || !counter->hasInit() ||
      !counts(loop.getInc(), counter) || named(condition->getLHS()) != counter ||
      (condition->getOpcode() != clang::BO_LT && condition->getOpcode() != clang::BO_LE))
    return leave();
  const auto* added = dyn_cast<clang::CompoundAssignOperator>(loop.getInc()->IgnoreParenImpCasts());
  walk(counter->getInit());
  walk(condition->getRHS());
  MaybeLinear first = value(counter->getInit()), end = value(condition->getRHS());
  const MaybeLinear step = added == nullptr ? Linear{.constant = 1, .terms = {}} : value(added->getRHS());
  if (!first || !end || !step || !end->terms.empty() || !step->terms.empty() || step->constant <= 0) return leave();
  const Space before = space_;
  first = space_.folded(*first);
  const std::int64_t behind = end->constant + (condition->getOpcode() == clang::BO_LE ? 1 : 0);
  const auto walk_rounds = [&](const Linear& number) {
    known_[counter] = {.value = number, .place = std::nullopt};
    walk(loop.getBody());
    alive_ = true;
    space_ = before;
  };
  if (!first->terms.empty()) {
    if (const auto number = space_.strided(*first, step->constant, behind)) walk_rounds(*number);
    return leave();
  }
  if (behind <= first->constant) return;
  const std::int64_t rounds = (behind - first->constant + step->constant - 1) / step->constant;
  if (reads_table(loop.getBody())) {
    for (std::int64_t i = 0; i < std::min(rounds, kMostWrittenOut); ++i)
      walk_rounds({.constant = first->constant + i * step->constant, .terms = {}});
  } else if (const auto number = sum(first, space_.run_through(0, rounds), step->constant)) {
    walk_rounds(*number);
  }
}

void ExactWalk::walk_call(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  results_.erase(&call);
  const auto* assignment = dyn_cast<clang::CXXOperatorCallExpr>(&call);
  const auto* method = clang::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  if (assignment != nullptr && method != nullptr && method->isTrivial() &&
      (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator())) {
    if (call.getArg(1)->isLValue())
      access(*call.getArg(1), ir::Mode::Read);
    else
      walk(call.getArg(1));
    return access(*call.getArg(0), ir::Mode::Write);
  }
  for (const clang::Expr* argument : call.arguments()) walk(argument);
  if (callee == nullptr || callee->getIdentifier() == nullptr) {
    if (callee != nullptr) walk_body(*callee, call);
    return;
  }
  const llvm::StringRef name = callee->getName();
  const bool atomic = name.starts_with("atomic"), cached = name.starts_with("__ldg") || name.starts_with("__ldc");
  if ((atomic || cached) && call.getNumArgs() > 0) {
    const clang::QualType to = call.getArg(0)->getType()->getPointeeType();
    if (!to.isNull()) touch(value(call.getArg(0)), to, atomic ? ir::Mode::Atomic : ir::Mode::Read);
    return;
  }
  walk_body(*callee, call);
}

/// A device function, with what it is given.
void ExactWalk::walk_body(const clang::FunctionDecl& function, const clang::CallExpr& call) {
  const clang::FunctionDecl* definition = nullptr;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  if (deep_ >= kDeepestRead || !function.hasBody(definition) || definition->isDependentContext() ||
      definition->isVariadic() || (method != nullptr && (method->isVirtual() || method->getParent()->isLambda())))
    return;
  const auto* of_member = dyn_cast<clang::CXXMemberCallExpr>(&call);
  const bool is_operator = isa<clang::CXXOperatorCallExpr>(call) && method != nullptr && !method->isStatic();
  MaybeLinear object;
  if (of_member != nullptr) {
    const clang::Expr* of = of_member->getImplicitObjectArgument();
    object = of->getType()->isPointerType() ? value(of) : is_changed(of) ? std::nullopt : place(of);
  } else if (is_operator && !is_changed(call.getArg(0))) {
    object = place(call.getArg(0));
  }
  std::vector<std::pair<const clang::ValueDecl*, Known>> given;
  for (unsigned i = is_operator ? 1 : 0; i < call.getNumArgs(); ++i) {
    const unsigned at = i - (is_operator ? 1 : 0);
    if (at >= definition->getNumParams()) break;
    const clang::ParmVarDecl* parameter = definition->getParamDecl(at);
    const clang::Expr* argument = call.getArg(i);
    Known known;
    if (parameter->getType()->isReferenceType())
      known = {.value = argument->isGLValue() ? load(argument) : value(argument), .place = place(argument)};
    else if (changed_.contains(parameter))
      continue;
    else if (parameter->getType()->isIntegralOrEnumerationType() || parameter->getType()->isPointerType())
      known.value = value(argument);
    given.emplace_back(parameter, std::move(known));
  }
  // Its own variables are others in each call under way.
  const auto kept = known_;
  for (auto& [parameter, known] : given) known_[parameter] = std::move(known);
  const Space before = space_;
  const MaybeLinear outer = std::exchange(this_, object);
  returned_.reset();
  ++deep_;
  walk(definition->getBody());
  --deep_;
  this_ = outer;
  // One that returns in several places may return several things.
  const auto* block = dyn_cast<clang::CompoundStmt>(definition->getBody());
  if (block != nullptr && !block->body_empty() && isa<clang::ReturnStmt>(block->body_back()) &&
      std::ranges::none_of(llvm::drop_end(block->body()),
                           [this](const clang::Stmt* inside) { return leaves_somewhere(inside); }))
    results_[&call] = returned_;
  returned_.reset();
  known_ = kept;
  space_.drop_conditions(before);
  alive_ = !ends_thread(*definition);
}

}  // namespace device

std::vector<ExactBytes> exact_bytes(const clang::FunctionDecl& kernel, const KnownLaunch& launch) {
  const clang::FunctionDecl* definition = nullptr;
  if (!kernel.hasBody(definition) || definition->isDependentContext()) return {};
  return device::ExactWalk(*definition, launch).all();
}

}  // namespace streamsan::analyzer
