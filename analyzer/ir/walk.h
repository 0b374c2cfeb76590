// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walking over what an op mentions, and what belongs to the function alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// The index of what has this id, in the list of its kind.
inline std::size_t at(PlaceId id) { return static_cast<std::size_t>(id); }
inline std::size_t at(BlockId id) { return static_cast<std::size_t>(id); }

/// Calls `visit(Operand&)` for every operand. `AnyOp`: Op or const Op.
template <typename AnyOp, typename Visit>
void for_each_operand(AnyOp& op, Visit&& visit) {
  visit(op.source);
  visit(op.stream);
  visit(op.event);
  visit(op.event2);
  visit(op.object);
  for (auto& argument : op.arguments) {
    visit(argument);
  }
  for (auto& access : op.accesses) {
    visit(access.memory);
  }
}

/// The variable that a path starts at.
struct Root {
  PlaceId place = kNoPlace;
  bool through_pointer = false;  ///< the path is not part of the variable but of something it points to
};

Root root(const Function& function, PlaceId path);

/// The variable that the spelling of a path begins with, if that goes on with a part of it: `p` of `p->x` and `p[i].x`,
/// none of `*p` and `p`.
PlaceId first_of(const Function& function, PlaceId path);

/// The blocks that ways from `from` come through, these included. `next(block, successor)`: whether a way goes on so.
template <typename Next>
std::vector<bool> reached(const Function& function, std::vector<std::size_t> from, Next next) {
  std::vector<bool> result(function.blocks.size());
  while (!from.empty()) {
    const std::size_t block = from.back();
    from.pop_back();
    if (result[block]) continue;
    result[block] = true;
    for (const BlockId to : function.blocks[block].successors)
      if (next(block, at(to))) from.push_back(at(to));
  }
  return result;
}

/// The blocks behind the end of `block`: it is one of them in a loop only.
std::vector<bool> reached_behind(const Function& function, std::size_t block);

/// The other direction: the blocks that ways to one of `targets` come through, these included.
template <typename Next>
std::vector<bool> leading_to(const Function& function, std::vector<bool> targets, Next next) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t block = targets.size(); block-- > 0;) {
      if (targets[block]) continue;
      for (const BlockId to : function.blocks[block].successors)
        if (targets[at(to)] && next(block, at(to))) targets[block] = changed = true;
    }
  }
  return targets;
}

/// The blocks before the begin of `block`: it is one of them in a loop only.
std::vector<bool> leading_before(const Function& function, std::size_t block);

/// The block is no choice of the function: no way through it that does other work, or that goes on behind the block,
/// leaves out all blocks that hold a copy of its op number `op`. A loop is taken to run at least once; leaving early
/// without work, as after an error, is no way.
bool always_runs(const Function& function, std::size_t block, std::size_t op);

/// The back edges of a depth-first walk from the entry, from and to, as the walk finds them: `to` is a loop's head.
std::vector<std::pair<std::size_t, std::size_t>> back_edges(const Function& function);

/// The reachable blocks, each behind those that lead to it, back edges aside, and each loop in one piece: its head,
/// then its other blocks, inner loops likewise, and only then what follows the loop. Who always takes the first block
/// that has to be looked at again is done with a loop before going on (Bourdoncle's weak topological order).
std::vector<std::uint32_t> loop_by_loop(const Function& function);

/// By block: a way leads from its end to its start again.
std::vector<bool> blocks_in_loops(const Function& function);

/// The one op that writes `place`; null: there is none, or several.
const Op* only_store(const Function& function, PlaceId place);

/// A variable that dies with the call: local, temporary, parameter by value.
bool is_own(const Place& variable);

/// What is known of the variables of a function without following its control flow.
class Variables {
 public:
  explicit Variables(const Function& function);

  /// The path is a part of one of the function's own variables.
  [[nodiscard]] bool is_own_part(PlaceId path) const;
  /// As is_own_part(), and nothing from elsewhere was ever stored in the variable: its values are known to nobody.
  [[nodiscard]] bool is_unknown_part(PlaceId path) const;
  /// `kind` with this operand cannot matter to anybody who does not use the variable itself: it touches or ends the
  /// bytes of one of the function's own variables, or gives them away while they hold nothing.
  [[nodiscard]] bool is_own_bytes(OpKind kind, const Operand& operand) const;

 private:
  const Function& function_;
  std::vector<bool> assigned_;
};

/// "Class::field" of a place that is a field or an element of one; empty: it is none.
std::string field_key(const Function& function, PlaceId place);

}  // namespace streamsan::analyzer::ir
