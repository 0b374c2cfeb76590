// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over elements, and over slots.
//
// A loop qualifies if its head asks `i < bound`, `i` is set to a constant before it and stepped by one in one place,
// and somewhere in it a container grows, or an element is named by `i` where something happens that can be ordered. The
// bound is a constant, or one place that nothing in the function writes, or that holds a constant there (settled.h);
// copies that inlining made are followed.
//
// So does any loop, whatever ends it, that enqueues work and goes through slots in turn, or swaps its buffers.
#include "analyzer/ir/counted_loops.h"

#include <algorithm>
#include <map>
#include <string>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/rings.h"
#include "analyzer/ir/settled.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

class Loops {
 public:
  explicit Loops(const Function& function) : function_(function), stores_(function.places.size()) {
    for (std::size_t block = 0; block < function.blocks.size(); ++block)
      for (const Op& op : function.blocks[block].ops)
        if (op.target != kNoPlace) stores_[at(op.target)].push_back({block, &op});
  }

  [[nodiscard]] std::vector<Counted> find() const {
    std::map<std::size_t, std::set<std::size_t>> bodies;
    std::vector<std::vector<std::size_t>> before(function_.blocks.size());
    for (std::size_t i = 0; i < function_.blocks.size(); ++i)
      for (const BlockId next : function_.blocks[i].successors) before[at(next)].push_back(i);
    for (const auto& [from, head] : back_edges(function_)) {
      std::set<std::size_t>& body = bodies[head];
      body.insert(head);
      std::vector<std::size_t> work{from};
      while (!work.empty()) {
        const std::size_t block = work.back();
        work.pop_back();
        if (body.insert(block).second) work.insert(work.end(), before[block].begin(), before[block].end());
      }
    }
    std::vector<Counted> result;
    SettledNumbers numbers(function_);
    for (auto& [head, body] : bodies) {
      if (body.contains(0) && head != 0) continue;
      Counted plain{.head = head, .blocks = std::move(body)};
      find_turns(plain);
      Counted loop = plain;
      PlaceId bound = kNoPlace;
      bool counted = counts(loop, bound);
      const bool by_elements = counted && (names_elements(loop) || fills(loop));
      // The whole function is asked what a variable holds: only for loops that matter.
      if (bound != kNoPlace && (by_elements || loop.turns > 0)) {
        loop.end = numbers.in_loop(loop.head, loop.blocks, bound);
        counted = counted && loop.end;
      }
      if (!counted) loop = std::move(plain);
      if ((counted && by_elements) || loop.turns > 0) result.push_back(std::move(loop));
    }
    std::ranges::stable_sort(result, {}, [](const Counted& loop) { return loop.blocks.size(); });
    return result;
  }

 private:
  struct Store {
    std::size_t block;
    const Op* op;
  };

  /// `variable`: what holds its end, if that has to be followed.
  [[nodiscard]] bool counts(Counted& loop, PlaceId& variable) const {
    const Block& head = function_.blocks[loop.head];
    if (head.condition == kNoExpr || head.successors.size() != 2) return false;
    if (!loop.blocks.contains(at(head.successors[0])) || loop.blocks.contains(at(head.successors[1]))) return false;
    const Expr& condition = function_[head.condition];
    if (condition.uses.empty()) return false;
    const std::string text = numbered(function_, condition);
    loop.counter = condition.uses[0];
    if (function_[loop.counter].base != kNoPlace || function_[loop.counter].type != TypeKind::Integer ||
        !is_own(function_[loop.counter]))
      return false;
    if (text == "$0 < $1" || text == "$0 != $1") {
      loop.number = condition.uses[1];
      if (!resolve(loop)) {
        variable = condition.uses[1];
        loop.number = kNoPlace;
      }
    } else if (condition.uses.size() == 1 && (text.starts_with("$0 < ") || text.starts_with("$0 != "))) {
      const std::string bound = text.substr(text.rfind(' ') + 1);
      if (bound.empty() || bound.size() > 4 || !std::ranges::all_of(bound, [](char c) { return c >= '0' && c <= '9'; }))
        return false;
      loop.end = std::stoll(bound);
    } else {
      return false;
    }
    return starts_and_steps(loop);
  }

  /// Finds the variable whose value the bound is, through the copies that inlining made.
  [[nodiscard]] bool resolve(Counted& loop) const {
    for (int steps = 0; steps < 8; ++steps) {
      const std::vector<Store>& stores = stores_[at(loop.number)];
      if (stores.empty()) return stays_put(loop.number);
      const Root variable = root(function_, loop.number);
      if (stores.size() != 1 || !is_own(function_[variable.place]) || variable.through_pointer) return false;
      const Op& op = *stores[0].op;
      if (op.kind != OpKind::Assign || loop.blocks.contains(stores[0].block)) return false;
      if (op.source.kind == Operand::Kind::Number && function_[op.source.offset].constant) {
        loop.end = function_[op.source.offset].constant;
        loop.number = kNoPlace;
        return true;
      }
      if (op.source.kind != Operand::Kind::Value || op.source.offset != kNoExpr) return false;
      loop.number = op.source.place;
    }
    return false;
  }

  /// A path of fields: no index, nothing that a pointer may lead elsewhere.
  [[nodiscard]] bool stays_put(PlaceId place) const {
    for (; place != kNoPlace; place = function_[place].base)
      if (function_[place].kind == Place::Kind::Index || !stores_[at(place)].empty()) return false;
    return true;
  }

  [[nodiscard]] bool starts_and_steps(Counted& loop) const {
    std::size_t starts = 0, steps = 0;
    for (const Store& store : stores_[at(loop.counter)]) {
      const Op& op = *store.op;
      if (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Number) return false;
      const Expr& value = function_[op.source.offset];
      if (loop.blocks.contains(store.block)) {
        if (numbered(function_, value) != "$0 + 1" || value.uses != std::vector{loop.counter}) return false;
        ++steps;
      } else {
        if (!value.constant) return false;
        loop.first = *value.constant;
        ++starts;
      }
    }
    return starts == 1 && steps == 1;
  }

  void find_turns(Counted& loop) const {
    const bool enqueues = std::ranges::any_of(loop.blocks, [&](std::size_t block) {
      return std::ranges::any_of(function_.blocks[block].ops, [](const Op& op) { return op.kind == OpKind::Enqueue; });
    });
    if (!enqueues) return;
    constexpr std::int64_t kMostSlots = 4;
    const Rings rings = rings_of(function_, loop.blocks);
    std::int64_t slots = std::max(rings.slots, passed_round(function_, loop.blocks));
    if (slots == 1)
      for (const PlaceId number : rings.numbers)
        if (loop.slots == kNoPlace && stays_put(number)) loop.slots = number, slots = kSupposedSlots;
    if (slots > 1 && slots <= kMostSlots) loop.turns = slots + 1;
  }

  /// A container of handles or memory grows in it.
  [[nodiscard]] bool fills(const Counted& loop) const {
    return std::ranges::any_of(loop.blocks, [&](std::size_t block) {
      return std::ranges::any_of(function_.blocks[block].ops, [&](const Op& op) {
        return op.kind == OpKind::Assign && op.target != kNoPlace && is(function_[op.target], Hidden::Size) &&
               op.source.kind == Operand::Kind::Number;
      });
    });
  }

  [[nodiscard]] bool names_elements(const Counted& loop) const {
    const auto by_counter = [&](PlaceId place) {
      for (; place != kNoPlace; place = function_[place].base) {
        const Place& here = function_[place];
        if (here.kind == Place::Kind::Index && here.index != kNoExpr &&
            std::ranges::find(function_[here.index].uses, loop.counter) != function_[here.index].uses.end())
          return true;
      }
      return false;
    };
    return std::ranges::any_of(loop.blocks,
                               [&](std::size_t block) {
                                 return std::ranges::any_of(function_.blocks[block].ops, [&](const Op& op) {
                                   // An argument of a callee is a copy.
                                   bool named = by_counter(op.target);
                                   for_each_operand(
                                       op, [&](const Operand& operand) { named = named || by_counter(operand.place); });
                                   const bool handle = op.kind == OpKind::Assign && op.target != kNoPlace &&
                                                       function_[op.target].type != TypeKind::Integer &&
                                                       function_[op.target].type != TypeKind::Other;
                                   return named && (is_ordered(op) || handle);
                                 });
                               }) &&
           std::ranges::any_of(loop.blocks, [&](std::size_t block) {
             return std::ranges::any_of(function_.blocks[block].ops, is_ordered);
           });
  }

  const Function& function_;
  std::vector<std::vector<Store>> stores_;  ///< by place
};

}  // namespace

bool is_ordered(const Op& op) {
  switch (op.kind) {
    case OpKind::Enqueue:
    case OpKind::Record:
    case OpKind::Wait:
    case OpKind::SyncStream:
    case OpKind::SyncEvent:
    case OpKind::HostAccess:
    case OpKind::Post:
    case OpKind::Complete:
    case OpKind::CreateStream:
    case OpKind::CreateEvent:
    case OpKind::Allocate:
    case OpKind::Free:
      return true;
    default:
      return false;
  }
}

std::vector<Counted> counted_loops(const Function& function) { return Loops(function).find(); }

}  // namespace streamsan::analyzer::ir
