// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops in which only the host works.
//
// Nothing is enqueued while such a loop runs, so its rounds need not be distinguished: `for (i = a; i < b; ++i) h[i] =
// 0;` is one access that begins at `h + a` and is as long as `b - a` elements. The innermost loop comes first.
//
// This holds of an access that every round reaches, if the round begins. One under a condition, that of a loop around
// it too, or behind a way out of the loop, may be meant for other rounds than those that meet a copy. An inner loop is
// taken to have a round, like every loop, if what it counts from and to is the same in all rounds of the outer one. A
// function that is called is taken to do what it does if nothing in it branches.
//
// The access begins where the first round touches, if the offset grows with what the loop counts (host_counting.cpp).
// It ends where the last round touches if every element between is touched, too: the counter is stepped by one, that is
// as far as the access is long, and nothing but the head ends the loop. A loop that goes backwards begins where it
// ends, so this has to be known of it in any case. Of an access for which any of this fails only the memory is known,
// and not where in it.
#include "analyzer/lowering/host_rounds.h"

#include <algorithm>

#include "analyzer/ir/polynomial.h"
#include "analyzer/lowering/host_counting.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_source.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::Place;

namespace {

/// Whether what a function does depends on anything; `deepest` calls are followed.
bool branches(const clang::FunctionDecl& function, unsigned deepest);

bool branches(const clang::Stmt* statement, unsigned deepest) {
  if (statement == nullptr) return false;
  if (llvm::isa<clang::IfStmt, clang::SwitchStmt, clang::ForStmt, clang::WhileStmt, clang::DoStmt,
                clang::CXXForRangeStmt, clang::AbstractConditionalOperator, clang::IndirectGotoStmt, clang::GotoStmt,
                clang::CXXTryStmt>(statement))
    return true;
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement); binary != nullptr && binary->isLogicalOp())
    return true;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
  if (const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee())
    if (callee->hasBody() && (deepest == 0 || branches(*callee, deepest - 1))) return true;
  return std::any_of(statement->child_begin(), statement->child_end(),
                     [deepest](const clang::Stmt* child) { return branches(child, deepest); });
}

bool branches(const clang::FunctionDecl& function, unsigned deepest) { return branches(function.getBody(), deepest); }

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

std::optional<ir::Polynomial> polynomial(const ir::Function& function, const ir::Expr& expr) {
  return ir::Polynomial::parse(ir::numbered(function, expr), [](std::string_view word) { return std::string(word); });
}

/// The size as a polynomial, whose variables have the numbers that they have in `like`. Nothing: `like` lacks one.
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

/// How an op of a loop is reached.
struct Reached {
  bool in_all_rounds = false;               ///< in every one that begins
  bool to_the_end = false;                  ///< and as many begin as the head says
  llvm::DenseSet<std::uint32_t> uncertain;  ///< places that only some rounds write, and before the op
};

class Rounds {
 public:
  Rounds(Unit& unit, ir::Function& function, const Terminators& terminators, Source& source)
      : unit_(unit),
        function_(function),
        numbers_(unit, function),
        counting_(function, numbers_, source),
        loops_(natural_loops(function, terminators)) {}

  void spread_all();

 private:
  bool in_all_rounds(std::size_t loop, std::size_t block);
  /// What may be written on a way from the head to `block` by blocks that are not `in_all` rounds.
  [[nodiscard]] llvm::DenseSet<std::uint32_t> perhaps_written_before(const Loop& loop, std::size_t block,
                                                                     const std::vector<bool>& in_all) const;
  void spread(Operand& memory, ir::ExprId* bytes, const Loop& loop, const Reached& reached);
  /// `value` in place of the variable.
  ir::ExprId instead(ir::ExprId expr, ir::PlaceId variable, ir::ExprId value);
  ir::ExprId length(ir::ExprId first, ir::ExprId last, ir::ExprId element);
  ir::ExprId add_folded(ir::Expr expr);

  Unit& unit_;
  ir::Function& function_;
  Numbers numbers_;
  Counting counting_;
  std::vector<Loop> loops_;
};

ir::ExprId Rounds::add_folded(ir::Expr made) {
  const auto value_of = polynomial(function_, made);
  if (const auto known = value_of ? value_of->constant() : std::nullopt) {
    made.constant = known;
    made.text = std::to_string(*known);
    made.uses.clear();
  }
  return function_.add(std::move(made));
}

ir::ExprId Rounds::instead(ir::ExprId in, ir::PlaceId variable, ir::ExprId value) {
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

ir::ExprId Rounds::length(ir::ExprId first, ir::ExprId last, ir::ExprId element) {
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

bool Rounds::in_all_rounds(std::size_t loop, std::size_t block) {
  // Small loops come first: the last one that is smaller and has the block is the one directly inside.
  const Loop& outer = loops_[loop];
  for (std::size_t i = loop; i-- > 0;) {
    const Loop& inner = loops_[i];
    if (inner.head == outer.head || !outer.has(inner.head) || !inner.has(block)) continue;
    return passes(function_, outer, inner.head) &&
           (block == inner.head || (counting_.begins_in_all_rounds(inner, outer) && in_all_rounds(i, block)));
  }
  return passes(function_, outer, block);
}

void Rounds::spread(Operand& memory, ir::ExprId* bytes, const Loop& loop, const Reached& reached) {
  // An element of an array is a part of it, too.
  while (memory.kind == Operand::Kind::Address && function_[memory.place].kind == Place::Kind::Index &&
         function_[function_[memory.place].base].type != ir::TypeKind::Pointer &&
         varies(function_, function_[memory.place].index, loop)) {
    const Place element = function_[memory.place];
    memory.place = element.base;
    memory.offset = memory.offset == ir::kNoExpr ? element.index : numbers_.sum(element.index, memory.offset);
  }
  if (bytes != nullptr && varies(function_, *bytes, loop)) *bytes = ir::kNoExpr;
  const bool moves = changes(function_, memory.place, loop.writes), indexed = varies(function_, memory.offset, loop);
  if (!moves && !indexed) return;
  ir::ExprId low = memory.offset, high = moves ? ir::kNoExpr : memory.offset;
  if (!reached.in_all_rounds || changes(function_, memory.place, reached.uncertain)) {
    low = numbers_.unknown_number();
  } else if (!indexed) {
    return;
  }
  ir::ExprId size = bytes == nullptr ? ir::kNoExpr : *bytes;
  for (bool further = false; varies(function_, low, loop); further = true) {
    const ir::Expr now = function_[low];
    std::size_t number = 0;
    while (!changes(function_, now.uses[number], loop.writes)) ++number;
    const ir::PlaceId variable = now.uses[number];
    const std::string name = "$" + std::to_string(number);
    const auto offset = polynomial(function_, now);
    const Slope way = offset ? slope(*offset, name) : Slope::NotKnown;
    const Counted count = way == Slope::Up || way == Slope::Down ? counting_.counted(variable, loop) : Counted{};
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
  if (low == ir::kNoExpr) low = numbers_.unknown_number();
  if (bytes != nullptr) *bytes = length(low, high, size);
  // Memory at its begin has no offset; a number, which is an argument of a call, is 0.
  const bool is_begin = memory.kind != Operand::Kind::Number && function_[low].constant == 0;
  memory.offset = is_begin ? ir::kNoExpr : low;
}

llvm::DenseSet<std::uint32_t> Rounds::perhaps_written_before(const Loop& loop, std::size_t block,
                                                             const std::vector<bool>& in_all) const {
  llvm::DenseSet<std::size_t> before;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t candidate : loop.blocks) {
      if (before.contains(candidate)) continue;
      const auto& next = function_.blocks[candidate].successors;
      const bool leads = std::any_of(next.begin(), next.end(), [&](ir::BlockId id) {
        const auto at = static_cast<std::size_t>(id);
        return at != loop.head && (at == block || before.contains(at));
      });
      if (leads) changed = before.insert(candidate).second;
    }
  }
  llvm::DenseSet<std::uint32_t> written;
  for (std::size_t number = 0; number < loop.blocks.size(); ++number) {
    if (in_all[number] || !before.contains(loop.blocks[number])) continue;
    for (const ir::Op& op : function_.blocks[loop.blocks[number]].ops)
      if (op.target != ir::kNoPlace) written.insert(static_cast<std::uint32_t>(op.target));
  }
  return written;
}

void Rounds::spread_all() {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const Loop& loop = loops_[i];
    if (!only_host(unit_, function_, loop)) continue;
    Reached reached{.in_all_rounds = false, .to_the_end = !leaves_early(function_, loop), .uncertain = {}};
    std::vector<bool> in_all;
    bool certain = true;
    for (const std::size_t block : loop.blocks) {
      const auto& ops = function_.blocks[block].ops;
      in_all.push_back(!ops.empty() && in_all_rounds(i, block));
      certain = certain && (in_all.back() || ops.empty());
    }
    for (std::size_t number = 0; number < loop.blocks.size(); ++number) {
      if (function_.blocks[loop.blocks[number]].ops.empty()) continue;
      if (!certain) reached.uncertain = perhaps_written_before(loop, loop.blocks[number], in_all);
      for (ir::Op& op : function_.blocks[loop.blocks[number]].ops) {
        reached.in_all_rounds = in_all[number];
        for (ir::Access& access : op.accesses) spread(access.memory, &access.bytes, loop, reached);
        if (op.arguments.empty()) continue;
        const auto callee = unit_.usr_owner.find(op.callee);
        constexpr unsigned kDeepest = 3;
        reached.in_all_rounds =
            in_all[number] && callee != unit_.usr_owner.end() && !branches(*callee->second, kDeepest);
        for (Operand& argument : op.arguments) spread(argument, nullptr, loop, reached);
      }
    }
  }
}

}  // namespace

void spread_accesses(Unit& unit, ir::Function& function, const Terminators& terminators, Source& source) {
  Rounds(unit, function, terminators, source).spread_all();
}

}  // namespace streamsan::analyzer::host
