// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops in which only the host works.
//
// Nothing is enqueued while such a loop runs, so its rounds need not be told apart: `for (i = a; i < b; ++i) h[i] = 0;`
// is one access that begins at `h + a` and is as long as `b - a` elements. An access in a loop is spread like this, in
// the innermost loop first, if its offset grows or shrinks with what the loops count, and what they count starts and
// steps in sight. Of others only the memory is known, and not where in it. An access under a condition on the counter
// (`if (i >= n) h[i] = 0;`) is of that kind: it may not happen in the first round. Any other condition is taken to
// hold.
//
// What is then left of a loop with one way out is a list.
#include <algorithm>
#include <map>
#include <set>

#include "analyzer/ir/polynomial.h"
#include "analyzer/lowering/host_body.h"
#include "clang/AST/ASTContext.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
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

/// `map[i]` is another value when i is.
bool changes(const ir::Function& function, ir::PlaceId place, const llvm::DenseSet<std::uint32_t>& written) {
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

}  // namespace

bool Body::only_host(const ir::Op& op) const {
  switch (op.kind) {
    case OpKind::HostAccess:
    case OpKind::Fresh:
    case OpKind::EndOfLife:
      return true;
    case OpKind::Assign:
      return kind(op.target) != TypeKind::Stream && kind(op.target) != TypeKind::Event;
    case OpKind::Call: {
      const auto callee = unit_.usr_owner.find(op.callee);
      return callee != unit_.usr_owner.end() && unit_.census.lowered(*callee->second) != nullptr &&
             !unit_.census.is_root(*callee->second);
    }
    default:
      return false;
  }
}

bool Body::only_host(const Loop& loop) const {
  return std::all_of(loop.blocks.begin(), loop.blocks.end(), [&](std::size_t block) {
    const auto& ops = function_.blocks[block].ops;
    return std::all_of(ops.begin(), ops.end(), [&](const ir::Op& op) { return only_host(op); });
  });
}

Body::Counted Body::counted(ir::PlaceId variable) {
  const auto declared =
      std::find_if(variables_.begin(), variables_.end(), [&](const auto& known) { return known.second == variable; });
  if (declared == variables_.end() || llvm::isa<clang::ParmVarDecl>(declared->first)) return {};
  const auto* declaration = llvm::dyn_cast<clang::VarDecl>(declared->first);
  const auto found = scan_.counters.find(declaration);
  if (found == scan_.counters.end()) return {};
  const Counter& counter = found->second;
  if (counter.otherwise || counter.grows == counter.shrinks || counter.starts.empty()) return {};
  if (const auto begin = iterators_begin_.find(static_cast<std::uint32_t>(variable)); begin != iterators_begin_.end())
    return counter.grows && counter.starts.size() == 1 ? Counted{.lowest = begin->second} : Counted{};
  if (kind(variable) != TypeKind::Integer) return {};
  Counted result;
  ir::ExprId& first = counter.grows ? result.lowest : result.highest;
  for (const clang::Expr* start : counter.starts) {
    const ir::ExprId value = expr(start);
    if (first != ir::kNoExpr && first != value) return {};
    first = value;
  }
  // i < n, n > i, i <= n, i != n: up to where. A variable of two loops has two ends.
  if (counter.bounds.size() != 1) return result;
  const auto* condition = llvm::cast<clang::BinaryOperator>(counter.bounds.front());
  const auto* left = llvm::dyn_cast<clang::DeclRefExpr>(strip(condition->getLHS()));
  const bool turned = left == nullptr || left->getDecl() != declaration;
  clang::BinaryOperatorKind compares = condition->getOpcode();
  if (turned && condition->isRelationalOp()) compares = clang::BinaryOperator::reverseComparisonOp(compares);
  const bool strict = compares == clang::BO_NE || compares == (counter.grows ? clang::BO_LT : clang::BO_GT);
  if (!strict && compares != (counter.grows ? clang::BO_LE : clang::BO_GE)) return result;
  const ir::ExprId bound = expr(turned ? condition->getLHS() : condition->getRHS());
  (counter.grows ? result.highest : result.lowest) = strict ? sum(bound, number(counter.grows ? -1 : 1)) : bound;
  return result;
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

void Body::spread(Operand& memory, ir::ExprId* bytes, const llvm::DenseSet<std::uint32_t>& written,
                  const llvm::DenseSet<std::uint32_t>& tested) {
  const auto varies = [&](ir::ExprId expr) {
    return expr != ir::kNoExpr && std::any_of(function_[expr].uses.begin(), function_[expr].uses.end(),
                                              [&](ir::PlaceId use) { return changes(function_, use, written); });
  };
  // An element of an array is a part of it, too.
  while (memory.kind == Operand::Kind::Address && function_[memory.place].kind == Place::Kind::Index &&
         kind(function_[memory.place].base) != TypeKind::Pointer && varies(function_[memory.place].index)) {
    const Place element = function_[memory.place];
    memory.place = element.base;
    memory.offset = memory.offset == ir::kNoExpr ? element.index : sum(element.index, memory.offset);
  }
  ir::ExprId size = bytes == nullptr ? ir::kNoExpr : *bytes;
  if (varies(size)) size = ir::kNoExpr;
  if (varies(memory.offset)) {
    ir::ExprId low = memory.offset, high = memory.offset;
    while (varies(low)) {
      const ir::Expr now = function_[low];
      std::size_t number = 0;
      while (!changes(function_, now.uses[number], written)) ++number;
      const ir::PlaceId variable = now.uses[number];
      const auto offset = polynomial(function_, now);
      const Slope way = offset ? slope(*offset, "$" + std::to_string(number)) : Slope::NotKnown;
      Counted count;
      if (way == Slope::Up || way == Slope::Down) count = counted(variable);
      if (way == Slope::Down) std::swap(count.lowest, count.highest);
      if (tested.contains(static_cast<std::uint32_t>(variable)) || varies(count.lowest)) count.lowest = ir::kNoExpr;
      if (varies(count.highest)) count.highest = ir::kNoExpr;
      low = instead(low, variable, count.lowest);
      high = instead(high, variable, count.highest);
    }
    size = low == ir::kNoExpr ? ir::kNoExpr : length(low, high, size);
    memory.offset = low == ir::kNoExpr ? unknown_number() : function_[low].constant == 0 ? ir::kNoExpr : low;
  }
  if (bytes != nullptr) *bytes = size;
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

void Body::spread_accesses() {
  const std::vector<Loop> loops = natural_loops();
  std::set<std::size_t> heads;
  for (const Loop& loop : loops) heads.insert(loop.head);
  for (const Loop& loop : loops) {
    if (!only_host(loop)) continue;
    llvm::DenseSet<std::uint32_t> written, tested;
    for (const std::size_t block : loop.blocks)
      for (const ir::Op& op : function_.blocks[block].ops)
        if (op.target != ir::kNoPlace) written.insert(static_cast<std::uint32_t>(op.target));
    for (const std::size_t block : loop.blocks) {
      const ir::Block& here = function_.blocks[block];
      if (here.condition == ir::kNoExpr || heads.contains(block)) continue;
      const bool leaves = std::any_of(here.successors.begin(), here.successors.end(), [&](ir::BlockId next) {
        return !std::binary_search(loop.blocks.begin(), loop.blocks.end(), static_cast<std::size_t>(next));
      });
      if (leaves) continue;
      const std::string& text = function_[here.condition].text;
      for (const std::uint32_t variable : written)
        if (ir::numbered(function_, {.text = text, .uses = {ir::PlaceId{variable}}}) != text) tested.insert(variable);
    }
    for (const std::size_t block : loop.blocks) {
      for (ir::Op& op : function_.blocks[block].ops) {
        for (ir::Access& access : op.accesses) spread(access.memory, &access.bytes, written, tested);
        for (Operand& argument : op.arguments) spread(argument, nullptr, written, tested);
      }
    }
  }
}

void Body::flatten_loops() {
  for (bool changed = true; changed;) {
    changed = false;
    const auto loops = natural_loops();
    for (const auto& [head, body] : loops) {
      std::optional<ir::BlockId> exit;
      bool simple = only_host({head, body});
      for (const std::size_t block : body) {
        for (const ir::BlockId next : function_.blocks[block].successors) {
          if (std::binary_search(body.begin(), body.end(), static_cast<std::size_t>(next))) continue;
          simple = simple && (!exit || *exit == next);
          exit = next;
        }
      }
      if (!simple || !exit) continue;
      std::vector<ir::Op> list = without_paths(body, /*in_loop=*/true);
      for (const std::size_t block : body) function_.blocks[block] = {};
      function_.blocks[head] = {.ops = std::move(list), .successors = {*exit}};
      changed = true;
      break;
    }
  }
}

std::vector<Body::Loop> Body::natural_loops() const {
  const auto& blocks = function_.blocks;
  std::vector<std::vector<std::size_t>> before(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (const ir::BlockId next : blocks[i].successors) before[static_cast<std::size_t>(next)].push_back(i);
  std::map<std::size_t, std::set<std::size_t>> loops;
  // Blocks stand in reverse post-order: what leads back leads to a lower number.
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (const ir::BlockId next : blocks[i].successors) {
      const auto head = static_cast<std::size_t>(next);
      if (head > i) continue;
      std::set<std::size_t>& body = loops[head];
      body.insert(head);
      std::vector<std::size_t> work{i};
      while (!work.empty()) {
        const std::size_t at = work.back();
        work.pop_back();
        if (body.insert(at).second) work.insert(work.end(), before[at].begin(), before[at].end());
      }
    }
  }
  std::vector<Loop> result;
  for (const auto& [head, body] : loops)
    if (body.count(0) == 0 || head == 0) result.push_back({head, {body.begin(), body.end()}});
  std::sort(result.begin(), result.end(),
            [](const Loop& a, const Loop& b) { return a.blocks.size() < b.blocks.size(); });
  return result;
}

}  // namespace streamsan::analyzer::host
