// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an access in a loop of the host touches in all the rounds together.
//
// It begins where the first round touches, if the offset grows with what the loop counts, and if the head of the `for`
// says what that starts at and how it is stepped: nothing else in the loop may write it, nor what it starts at. It ends
// where the last round touches if every element between is touched, too: the counter is stepped by one, that is as far
// as the access is long, and nothing but the head ends the loop. A loop that goes backwards begins where it ends, so
// this has to be known of it in any case. Of all others only the memory is known, and not where in it.
#include <algorithm>

#include "analyzer/ir/polynomial.h"
#include "analyzer/lowering/host_body.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::Place;
using ir::TypeKind;

namespace {

/// How a polynomial changes when a variable grows.
enum class Slope : std::uint8_t { None, Up, Down, NotKnown };

Slope slope(const ir::Polynomial& of, const std::string& variable) {
  Slope all = Slope::None;
  for (const auto& [variables, factor] : of.terms()) {
    for (const std::string& name : variables) {
      if (name != variable) {
        // A part of `(i % 2)`.
        if (name.find(variable) != std::string::npos && name.front() == '(') return Slope::NotKnown;
        continue;
      }
      const Slope here = factor > 0 ? Slope::Up : Slope::Down;
      if (all != Slope::None && all != here) return Slope::NotKnown;
      all = here;
    }
  }
  return all;
}

/// What is added to a polynomial when a variable grows by one; absent: that depends on the variable.
std::optional<ir::Polynomial> growth(const ir::Polynomial& of, const std::string& variable) {
  ir::Polynomial result;
  for (const auto& [variables, factor] : of.terms()) {
    const auto times = std::count(variables.begin(), variables.end(), variable);
    if (times == 0) continue;
    if (times > 1) return std::nullopt;
    ir::Polynomial term(factor);
    for (const std::string& name : variables) {
      const auto scaled = name == variable ? std::optional(term) : term.times(ir::Polynomial::variable(name));
      if (!scaled) return std::nullopt;
      term = *scaled;
    }
    const auto more = result.plus(term);
    if (!more) return std::nullopt;
    result = *more;
  }
  return result;
}

/// `map[i]` is another value when i is.
template <typename Written>
bool changes(const ir::Function& function, ir::PlaceId place, const Written& written) {
  if (place == ir::kNoPlace) return false;
  if (written.contains(static_cast<std::uint32_t>(place))) return true;
  const Place& at = function[place];
  if (at.index != ir::kNoExpr)
    for (const ir::PlaceId use : function[at.index].uses)
      if (changes(function, use, written)) return true;
  return changes(function, at.base, written);
}

std::optional<ir::Polynomial> polynomial(const ir::Function& function, const ir::Expr& expr) {
  return ir::Polynomial::parse(ir::numbered(function, expr), [](std::string_view word) { return std::string(word); });
}

/// `size`, its variables called as in `like`.
std::optional<ir::Polynomial> size_like(const ir::Function& function, const ir::Expr& size, const ir::Expr& like) {
  return ir::Polynomial::parse(ir::numbered(function, size), [&](std::string_view word) -> std::string {
    for (std::size_t i = 0; i < size.uses.size(); ++i) {
      if (word != "$" + std::to_string(i)) continue;
      const auto same = std::find(like.uses.begin(), like.uses.end(), size.uses[i]);
      return same == like.uses.end() ? std::string() : "$" + std::to_string(same - like.uses.begin());
    }
    return {};
  });
}

/// Nothing in it but numbers and variables that are followed.
bool understood(const ir::Function& function, ir::ExprId expr) {
  if (expr == ir::kNoExpr) return false;
  return ir::Polynomial::parse(
             ir::numbered(function, function[expr]),
             [](std::string_view word) { return word.starts_with('$') ? std::string(word) : std::string(); })
      .has_value();
}

bool names(const clang::Expr* expression, const clang::VarDecl& variable) {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
  return name != nullptr && name->getDecl() == &variable;
}

template <typename Use>
bool all_parts(const clang::Expr* expression, Use use) {
  const auto* both = llvm::dyn_cast<clang::BinaryOperator>(expression->IgnoreParens());
  if (both != nullptr && both->isCommaOp()) return all_parts(both->getLHS(), use) && all_parts(both->getRHS(), use);
  if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(expression))
    return all_parts(cleanups->getSubExpr(), use);
  return use(expression->IgnoreParens());
}

/// What the head of a `for` sets `variable` to.
const clang::Expr* start_of(const clang::ForStmt& loop, const clang::VarDecl& variable) {
  const clang::Stmt* init = loop.getInit();
  if (const auto* declarations = llvm::dyn_cast_or_null<clang::DeclStmt>(init))
    return llvm::is_contained(declarations->decls(), &variable) ? variable.getInit() : nullptr;
  const auto* expression = llvm::dyn_cast_or_null<clang::Expr>(init);
  if (expression == nullptr) return nullptr;
  const clang::Expr* start = nullptr;
  // `i = a, a = b`: what one reads another may write.
  int assignments = 0, constants = 0;
  const bool plain = all_parts(expression, [&](const clang::Expr* part) {
    const auto* assigns = llvm::dyn_cast<clang::BinaryOperator>(part);
    if (assigns == nullptr || assigns->getOpcode() != clang::BO_Assign) return false;
    if (names(assigns->getLHS(), variable)) start = assigns->getRHS();
    constants += assigns->getRHS()->isEvaluatable(variable.getASTContext()) ? 1 : 0;
    ++assignments;
    return true;
  });
  return plain && (assignments == 1 || assignments == constants) ? start : nullptr;
}

/// By how much the head of a `for` steps `variable`; 0: not known.
std::int64_t step_of(const clang::ForStmt& loop, const clang::VarDecl& variable) {
  std::int64_t step = 0;
  if (loop.getInc() == nullptr) return 0;
  all_parts(loop.getInc(), [&](const clang::Expr* part) {
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(part)) {
      if (unary->isIncrementDecrementOp() && names(unary->getSubExpr(), variable))
        step = unary->isIncrementOp() ? 1 : -1;
    } else if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(part)) {
      const bool up = call->getOperator() == clang::OO_PlusPlus, down = call->getOperator() == clang::OO_MinusMinus;
      if ((up || down) && names(call->getArg(0), variable)) step = up ? 1 : -1;
    } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(part)) {
      const bool up = binary->getOpcode() == clang::BO_AddAssign, down = binary->getOpcode() == clang::BO_SubAssign;
      clang::Expr::EvalResult by;
      if ((up || down) && names(binary->getLHS(), variable) &&
          binary->getRHS()->EvaluateAsInt(by, variable.getASTContext()) && by.Val.getInt().isRepresentableByInt64())
        step = up ? by.Val.getInt().getExtValue() : -by.Val.getInt().getExtValue();
    }
    return true;
  });
  return step;
}

}  // namespace

bool Body::varies(ir::ExprId expr, const Loop& loop) const {
  return expr != ir::kNoExpr && std::any_of(function_[expr].uses.begin(), function_[expr].uses.end(),
                                            [&](ir::PlaceId use) { return changes(function_, use, loop.writes); });
}

Body::Counted Body::counted(ir::PlaceId variable, const Loop& loop) {
  const auto written = loop.writes.find(static_cast<std::uint32_t>(variable));
  const auto declared =
      std::find_if(variables_.begin(), variables_.end(), [&](const auto& known) { return known.second == variable; });
  if (written == loop.writes.end() || written->second != 1 || declared == variables_.end()) return {};
  const auto* declaration = llvm::dyn_cast<clang::VarDecl>(declared->first);
  if (declaration == nullptr || scan_.not_only_counted.contains(declaration)) return {};
  const auto begin = iterators_begin_.find(static_cast<std::uint32_t>(variable));
  const clang::Stmt* stepped_by = terminators_[loop.head];
  if (const auto* ranged = llvm::dyn_cast_or_null<clang::CXXForRangeStmt>(stepped_by)) {
    const bool own = begin != iterators_begin_.end() && ranged->getBeginStmt()->getSingleDecl() == declaration;
    return own ? Counted{.first = begin->second, .grows = true, .by_one = true} : Counted{};
  }
  const auto* statement = llvm::dyn_cast_or_null<clang::ForStmt>(stepped_by);
  if (statement == nullptr) return {};
  const clang::Expr* start = start_of(*statement, *declaration);
  const std::int64_t step = step_of(*statement, *declaration);
  if (start == nullptr || step == 0) return {};
  Counted result{.grows = step > 0, .by_one = step == 1 || step == -1};
  if (begin != iterators_begin_.end()) {
    result.first = begin->second;
  } else if (kind(variable) == TypeKind::Integer) {
    result.first = expr(start);
  }
  if (result.first == ir::kNoExpr || varies(result.first, loop)) return {};
  // i < n, n > i, i <= n, i != n: up to where.
  const auto* condition = llvm::dyn_cast_or_null<clang::BinaryOperator>(statement->getCond());
  if (condition == nullptr || begin != iterators_begin_.end()) return result;
  const bool turned = !names(condition->getLHS(), *declaration);
  if (turned && !names(condition->getRHS(), *declaration)) return result;
  clang::BinaryOperatorKind compares = condition->getOpcode();
  if (turned && condition->isRelationalOp()) compares = clang::BinaryOperator::reverseComparisonOp(compares);
  const bool strict = compares == clang::BO_NE || compares == (result.grows ? clang::BO_LT : clang::BO_GT);
  if (!strict && compares != (result.grows ? clang::BO_LE : clang::BO_GE)) return result;
  const ir::ExprId bound = expr(turned ? condition->getLHS() : condition->getRHS());
  result.last = strict ? sum(bound, number(result.grows ? -1 : 1)) : bound;
  if (varies(result.last, loop)) result.last = ir::kNoExpr;
  return result;
}

bool Body::begins_in_all_rounds(const Loop& inner, const Loop& outer) {
  const auto* statement = llvm::dyn_cast_or_null<clang::ForStmt>(terminators_[inner.head]);
  const auto* condition =
      statement == nullptr ? nullptr : llvm::dyn_cast_or_null<clang::BinaryOperator>(statement->getCond());
  if (condition == nullptr) return false;
  for (const clang::Expr* side : {condition->getLHS(), condition->getRHS()}) {
    const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(side->IgnoreParenImpCasts());
    const auto variable = name == nullptr ? variables_.end() : variables_.find(name->getDecl());
    if (variable == variables_.end()) continue;
    const Counted count = counted(variable->second, inner);
    if (understood(function_, count.first) && understood(function_, count.last))
      return !varies(count.first, outer) && !varies(count.last, outer);
  }
  return false;
}

ir::ExprId Body::add_folded(ir::Expr made) {
  const auto value_of = polynomial(function_, made);
  if (const auto known = value_of ? value_of->constant() : std::nullopt) {
    made.constant = known;
    made.text = std::to_string(*known);
    made.uses.clear();
  }
  return function_.add(std::move(made));
}

ir::ExprId Body::instead(ir::ExprId in, ir::PlaceId variable, ir::ExprId value) {
  if (in == ir::kNoExpr || value == ir::kNoExpr) return ir::kNoExpr;
  const ir::Expr old = function_[in], by = function_[value];
  // Of nested loops each may count from the sum of what the others do.
  constexpr std::size_t kMostCharacters = 400;
  if (old.text.size() > kMostCharacters || by.text.size() > kMostCharacters) return ir::kNoExpr;
  // Text cannot tell two variables of one name.
  for (const ir::PlaceId use : old.uses)
    for (const auto* uses : {&old.uses, &by.uses})
      for (const ir::PlaceId other : *uses)
        if (use != other && function_.spell(use) == function_.spell(other)) return ir::kNoExpr;
  ir::Expr made{.text = ir::numbered(function_, old), .uses = {}, .constant = {}, .unit = old.unit};
  // From the last on: $1 is a part of $10.
  for (std::size_t i = old.uses.size(); i-- > 0;) {
    const std::string name = "$" + std::to_string(i);
    const std::string with = old.uses[i] == variable ? "(" + by.text + ")" : function_.spell(old.uses[i]);
    for (std::size_t at = made.text.find(name); at != std::string::npos; at = made.text.find(name, at + with.size()))
      made.text.replace(at, name.size(), with);
  }
  for (const auto* uses : {&old.uses, &by.uses})
    for (const ir::PlaceId use : *uses)
      if (use != variable && std::find(made.uses.begin(), made.uses.end(), use) == made.uses.end())
        made.uses.push_back(use);
  return add_folded(std::move(made));
}

void Body::spread(Operand& memory, ir::ExprId* bytes, const Loop& loop, const Reached& reached) {
  // An element of an array is a part of it, too.
  while (memory.kind == Operand::Kind::Address && function_[memory.place].kind == Place::Kind::Index &&
         kind(function_[memory.place].base) != TypeKind::Pointer && varies(function_[memory.place].index, loop)) {
    const Place element = function_[memory.place];
    memory.place = element.base;
    memory.offset = memory.offset == ir::kNoExpr ? element.index : sum(element.index, memory.offset);
  }
  if (bytes != nullptr && varies(*bytes, loop)) *bytes = ir::kNoExpr;
  const bool moves = changes(function_, memory.place, loop.writes), indexed = varies(memory.offset, loop);
  if (!moves && !indexed) return;
  ir::ExprId low = memory.offset, high = moves ? ir::kNoExpr : memory.offset;
  if (!reached.in_all_rounds || changes(function_, memory.place, reached.uncertain)) {
    low = unknown_number();
  } else if (!indexed) {
    return;
  }
  ir::ExprId size = bytes == nullptr ? ir::kNoExpr : *bytes;
  for (bool further = false; varies(low, loop); further = true) {
    const ir::Expr now = function_[low];
    std::size_t number = 0;
    while (!changes(function_, now.uses[number], loop.writes)) ++number;
    const ir::PlaceId variable = now.uses[number];
    const std::string name = "$" + std::to_string(number);
    const auto offset = polynomial(function_, now);
    const Slope way = offset ? slope(*offset, name) : Slope::NotKnown;
    const Counted count = way == Slope::Up || way == Slope::Down ? counted(variable, loop) : Counted{};
    const auto grows_by = offset ? growth(*offset, name) : std::nullopt;
    const auto apart =
        grows_by ? grows_by->times(ir::Polynomial((way == Slope::Up ? 1 : -1) * std::int64_t{now.unit})) : std::nullopt;
    const bool dense = reached.to_the_end && count.by_one && !further && size != ir::kNoExpr && apart &&
                       apart == size_like(function_, function_[size], now);
    if (!dense) high = ir::kNoExpr;
    if (count.grows == (way == Slope::Up)) {
      low = instead(low, variable, count.first);
      high = instead(high, variable, count.last);
    } else {
      low = dense ? instead(low, variable, count.last) : ir::kNoExpr;
      high = instead(high, variable, count.first);
      if (high == ir::kNoExpr) low = ir::kNoExpr;
    }
  }
  if (low == ir::kNoExpr) low = unknown_number();
  if (bytes != nullptr) *bytes = length(low, high, size);
  memory.offset = function_[low].constant == 0 ? ir::kNoExpr : low;
}

ir::ExprId Body::length(ir::ExprId first, ir::ExprId last, ir::ExprId element) {
  if (last == ir::kNoExpr || element == ir::kNoExpr || function_[first].unit == 0) return ir::kNoExpr;
  const ir::Expr from = function_[first], to = function_[last], size = function_[element];
  ir::Expr made{
      .text = "((" + to.text + ") - (" + from.text + ")) * " + std::to_string(from.unit) + " + (" + size.text + ")",
      .uses = to.uses};
  for (const auto* uses : {&from.uses, &size.uses})
    for (const ir::PlaceId use : *uses)
      if (std::find(made.uses.begin(), made.uses.end(), use) == made.uses.end()) made.uses.push_back(use);
  return add_folded(std::move(made));
}

}  // namespace streamsan::analyzer::host
