// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths that nobody needs: what is left is a list of ops, in the order of their blocks, each once.
//
// That an access stands on some paths only is lost: it is taken to happen, as on the path where it does. A pointer that
// was set in several places is unknown, and so is what is returned in several ways; one that was set once and then
// moved along, as by `*p++`, is not, nor is one whose last setting is on all paths: `config = {}; config.stream = s;`.
// In a loop, what is made from something that moves on has another value in the end. A loop in which the host uses the
// memory of one element after the other stays: which of them it was matters.
#include "analyzer/lowering/host_paths.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "analyzer/ir/walk.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;

ir::PlaceId root_of(const ir::Function& function, ir::PlaceId place) {
  while (place != ir::kNoPlace && function[place].base != ir::kNoPlace) place = function[place].base;
  return place;
}

namespace {

/// Blocks that every way through the function passes, once.
std::vector<bool> on_all_paths(const ir::Function& function) {
  const std::vector<bool> loops = ir::blocks_in_loops(function);
  std::vector<bool> result(function.blocks.size());
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    std::vector<bool> around(function.blocks.size());
    if (block != 0) around = ir::reached(function, {0}, [block](std::size_t, std::size_t to) { return to != block; });
    result[block] = !loops[block];
    for (std::size_t end = 0; end < around.size(); ++end)
      if (around[end] && function.blocks[end].successors.empty()) result[block] = false;
  }
  return result;
}

/// Of the places that several ops set: the op on all paths behind which no other sets it.
llvm::DenseMap<std::uint32_t, const ir::Op*> deciding(const ir::Function& function) {
  constexpr std::size_t kMostBlocks = 64;
  llvm::DenseMap<std::uint32_t, const ir::Op*> last;
  if (function.blocks.size() > kMostBlocks) return last;
  const std::vector<bool> always = on_all_paths(function);
  llvm::DenseMap<std::uint32_t, std::size_t> block_of;
  std::vector<std::vector<bool>> behind(always.size());
  const auto each_store = [&](auto visit) {
    for (std::size_t block = 0; block < function.blocks.size(); ++block)
      for (const ir::Op& op : function.blocks[block].ops)
        if (op.target != ir::kNoPlace) visit(op, static_cast<std::uint32_t>(op.target), block);
  };
  each_store([&](const ir::Op& op, std::uint32_t place, std::size_t block) {
    if (!always[block]) return;
    last[place] = op.kind == OpKind::Assign && op.source.place != op.target ? &op : nullptr;
    block_of[place] = block;
    if (behind[block].empty()) behind[block] = ir::reached_behind(function, block);
  });
  // A block that was made late has a high number, and may run early.
  each_store([&](const ir::Op&, std::uint32_t place, std::size_t block) {
    const auto found = block_of.find(place);
    if (found != block_of.end() && behind[found->second][block]) last[place] = nullptr;
  });
  return last;
}

/// It sets the device once, on all paths that return.
bool sets_one_device(const ir::Function& function) {
  std::optional<std::size_t> where;
  for (std::size_t block = 0; block < function.blocks.size(); ++block)
    for (const ir::Op& op : function.blocks[block].ops) {
      if (op.kind != OpKind::SetDevice) continue;
      if (where) return false;
      where = block;
    }
  if (!where || ir::blocks_in_loops(function)[*where]) return false;
  if (*where == 0) return true;
  const std::vector<bool> around =
      ir::reached(function, {0}, [&](std::size_t, std::size_t to) { return to != *where; });
  for (std::size_t block = 0; block < function.blocks.size(); ++block)
    for (const ir::Op& op : function.blocks[block].ops)
      if (around[block] && op.kind == OpKind::Return) return false;
  return true;
}

std::vector<ir::Op> without_paths(ir::Function& function, const std::vector<std::size_t>& blocks, bool in_loop,
                                  bool one_device = false) {
  const auto writes_place = [](const ir::Op& op) { return op.target != ir::kNoPlace && op.kind != OpKind::Call; };
  // `p += n` in a function: what p points to is still what it was set to.
  const auto moves_along = [&](const ir::Op& op) {
    return !in_loop && op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value &&
           op.target != ir::kNoPlace && op.source.place == op.target;
  };
  llvm::DenseMap<std::uint32_t, unsigned> writes;
  for (const std::size_t block : blocks)
    for (const ir::Op& op : function.blocks[block].ops)
      if (op.target != ir::kNoPlace && !moves_along(op)) ++writes[static_cast<std::uint32_t>(op.target)];
  const std::vector<bool> loops = in_loop ? std::vector<bool>() : ir::blocks_in_loops(function);
  const auto decides = in_loop ? llvm::DenseMap<std::uint32_t, const ir::Op*>() : deciding(function);
  std::vector<ir::Op> list, moved_on;
  llvm::DenseSet<std::uint32_t> unknown_now;
  for (const std::size_t block : blocks) {
    for (ir::Op& op : function.blocks[block].ops) {
      if (op.kind == OpKind::HostAccess) {
        const bool known = std::any_of(list.begin(), list.end(), [&](const ir::Op& before) {
          return before.kind == OpKind::HostAccess && before.accesses.size() == 1 && op.accesses.size() == 1 &&
                 before.accesses.front().memory == op.accesses.front().memory &&
                 before.accesses.front().bytes == op.accesses.front().bytes &&
                 before.accesses.front().mode == op.accesses.front().mode;
        });
        if (!known) list.push_back(std::move(op));
        continue;
      }
      // On which path it is set is lost: then it is not known which.
      if (op.kind == OpKind::SetDevice && !one_device) op.detail.clear(), op.source = {};
      // What stands here is the first round of a loop; how far the pointer is after the last one is not known.
      if (moves_along(op)) {
        if (writes[static_cast<std::uint32_t>(op.target)] > 1) continue;
        if (loops[block]) moved_on.push_back(op), moved_on.back().source.offset = function.add(ir::Expr{});
        list.push_back(std::move(op));
        continue;
      }
      // What is made from something that moves on has another value in the end.
      if (in_loop && op.kind == OpKind::Assign && op.source.place != ir::kNoPlace &&
          writes.contains(static_cast<std::uint32_t>(root_of(function, op.source.place))))
        moved_on.push_back({.kind = OpKind::Fresh, .site = op.site, .target = op.target});
      if (writes_place(op) && writes[static_cast<std::uint32_t>(op.target)] > 1 &&
          decides.lookup(static_cast<std::uint32_t>(op.target)) != &op) {
        if (unknown_now.insert(static_cast<std::uint32_t>(op.target)).second)
          list.push_back({.kind = OpKind::Fresh, .site = op.site, .target = op.target});
        continue;
      }
      list.push_back(std::move(op));
    }
  }
  std::move(moved_on.begin(), moved_on.end(), std::back_inserter(list));
  return list;
}

}  // namespace

bool touches_elements(const ir::Function& function, const Loop& loop) {
  const auto by_element = [&](const ir::Access& access) {
    if (access.memory.kind != Operand::Kind::Value) return false;
    for (ir::PlaceId at = access.memory.place; at != ir::kNoPlace; at = function[at].base)
      if (function[at].kind == ir::Place::Kind::Index && varies(function, function[at].index, loop)) return true;
    return false;
  };
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](std::size_t block) {
    const auto& ops = function.blocks[block].ops;
    return std::any_of(ops.begin(), ops.end(), [&](const ir::Op& op) {
      return op.kind == OpKind::HostAccess && std::any_of(op.accesses.begin(), op.accesses.end(), by_element);
    });
  });
}

bool touches_elements(const ir::Function& function, const Terminators& terminators) {
  const auto loops = natural_loops(function, terminators);
  return std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) { return touches_elements(function, loop); });
}

bool may_use_memory(const ir::Op& op) {
  return op.kind == OpKind::HostAccess || op.kind == OpKind::EndOfLife || op.kind == OpKind::Free ||
         op.kind == OpKind::Call;
}

bool flags_decide(const ir::Function& function, const Terminators& terminators) {
  constexpr std::size_t kMostBlocks = 64;
  if (function.blocks.size() > kMostBlocks) return false;
  const auto asks_flag = [&](const ir::Block& block) {
    if (block.condition == ir::kNoExpr || block.successors.size() < 2) return false;
    const auto& uses = function[block.condition].uses;
    return std::any_of(uses.begin(), uses.end(), [&](ir::PlaceId use) {
      const ir::Place::Kind root = function[root_of(function, use)].kind;
      return root == ir::Place::Kind::Parameter || root == ir::Place::Kind::This;
    });
  };
  std::vector<std::size_t> asking;
  for (std::size_t block = 0; block < function.blocks.size(); ++block)
    if (asks_flag(function.blocks[block])) asking.push_back(block);
  for (const Loop& loop : natural_loops(function, terminators)) std::erase(asking, loop.head);
  if (asking.empty()) return false;
  const std::vector<bool> always = on_all_paths(function);
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    const auto& ops = function.blocks[block].ops;
    if (!always[block] && std::any_of(ops.begin(), ops.end(), may_use_memory)) return true;
  }
  return false;
}

void flatten_loops(const Unit& unit, ir::Function& function, const Terminators& terminators) {
  for (bool changed = true; changed;) {
    changed = false;
    const auto loops = natural_loops(function, terminators);
    for (const Loop& loop : loops) {
      const std::vector<std::size_t>& body = loop.blocks;
      std::optional<ir::BlockId> exit;
      bool simple = only_host(unit, function, loop) && !touches_elements(function, loop);
      for (const std::size_t block : body) {
        for (const ir::BlockId next : function.blocks[block].successors) {
          if (loop.has(static_cast<std::size_t>(next))) continue;
          simple = simple && (!exit || *exit == next);
          exit = next;
        }
      }
      if (!simple || !exit) continue;
      std::vector<ir::Op> list = without_paths(function, body, /*in_loop=*/true);
      for (const std::size_t block : body) function.blocks[block] = {};
      function.blocks[loop.head] = {.ops = std::move(list), .successors = {*exit}};
      changed = true;
      break;
    }
  }
}

void outline(ir::Function& function) {
  const bool one_device = sets_one_device(function);
  std::vector<Operand> returned;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    all.push_back(i);
    std::erase_if(function.blocks[i].ops, [&](const ir::Op& op) {
      if (op.kind != OpKind::Return) return false;
      if (std::find(returned.begin(), returned.end(), op.source) == returned.end()) returned.push_back(op.source);
      return true;
    });
  }
  ir::Op last{.kind = OpKind::Return, .site = function.site};
  if (returned.size() == 1) last.source = returned.front();
  if (returned.size() > 1) last.source = {.kind = Operand::Kind::Unknown};
  std::vector<ir::Op> list = without_paths(function, all, /*in_loop=*/false, one_device);
  list.push_back(std::move(last));
  function.blocks.assign(1, {});
  function.blocks[0].ops = std::move(list);
}

}  // namespace streamsan::analyzer::host
