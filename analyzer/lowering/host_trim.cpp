// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is taken out of a function again once it is lowered.
//
// The analysis pays for every op in every function that calls this one, so what nobody can notice goes:
//
//   * Dead ends: blocks from which there is no way but to exit(), abort() or throw. What an error path does before the
//     process ends concerns no stream.
//   * Host accesses, in a branch, of memory of which the function asks CUDA what kind it is.
//   * Host accesses of memory that was never given to anything but the host's own accesses, and new versions of
//     integers that no index, offset or size reads, nor counts the rounds in which a container may grow.
//   * The paths of a function that does nothing to streams, nor do its callees, unless flags of the caller's decide
//     what it does to memory, and of loops in which only the host works (host_paths.cpp). Before that, an access of
//     such a loop becomes one for all rounds (host_rounds.cpp).
#include "analyzer/lowering/host_trim.h"

#include <algorithm>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"
#include "analyzer/lowering/host_loops.h"
#include "analyzer/lowering/host_paths.h"
#include "analyzer/lowering/host_rounds.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

namespace {

bool own(const ir::Function& function, ir::PlaceId place) {
  const Place::Kind kind = function[place].kind;
  return kind == Place::Kind::Local || kind == Place::Kind::Temporary;
}

template <typename Use>
void for_each_operand(ir::Op& op, Use use) {
  for (Operand* operand : {&op.source, &op.stream, &op.event, &op.event2, &op.object}) use(*operand);
  for (Operand& operand : op.arguments) use(operand);
  for (ir::Access& access : op.accesses) use(access.memory);
}

/// The integers that an op reads: in its operands and in the indices on the way to its places.
class Integers {
 public:
  explicit Integers(const ir::Function& function) : function_(function) {}

  void read(ir::Op& op) {
    if (op.kind != OpKind::Fresh && op.kind != OpKind::Assign) place(op.target, true);
    if (op.target != ir::kNoPlace) place(function_[op.target].base, true), expr(function_[op.target].index);
    for_each_operand(op, [this](const Operand& operand) {
      place(operand.place, true);
      expr(operand.offset);
    });
    for (const ir::Access& access : op.accesses) expr(access.bytes);
  }
  void keep(ir::PlaceId id) { place(id, true); }
  [[nodiscard]] bool has(ir::PlaceId id) const { return ids_.contains(static_cast<std::uint32_t>(id)); }

 private:
  void place(ir::PlaceId id, bool read) {
    if (id == ir::kNoPlace) return;
    if (read && !ids_.insert(static_cast<std::uint32_t>(id)).second) return;
    expr(function_[id].index);
    place(function_[id].base, true);
  }
  void expr(ir::ExprId id) {
    if (id == ir::kNoExpr) return;
    for (const ir::PlaceId use : function_[id].uses) place(use, true);
  }

  const ir::Function& function_;
  llvm::DenseSet<std::uint32_t> ids_;
};

void drop_dead_ends(ir::Function& function, Terminators& terminators) {
  auto& blocks = function.blocks;
  std::vector<bool> dead(blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = blocks.size(); i-- > 0;) {
      const ir::Block& block = blocks[i];
      if (dead[i] || (!block.ops.empty() && block.ops.back().kind == OpKind::Return)) continue;
      dead[i] = std::all_of(block.successors.begin(), block.successors.end(),
                            [&](ir::BlockId next) { return dead[static_cast<std::size_t>(next)]; });
      changed = changed || dead[i];
    }
  }
  // A function that never returns is looked at all the same.
  if (dead[0]) dead.assign(blocks.size(), false);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (dead[i]) {
      blocks[i] = {};
      continue;
    }
    const auto removed =
        std::erase_if(blocks[i].successors, [&](ir::BlockId next) { return dead[static_cast<std::size_t>(next)]; });
    if (removed != 0) blocks[i].condition = ir::kNoExpr;
  }
  std::vector<bool> reached(blocks.size());
  std::vector<std::size_t> work{0};
  while (!work.empty()) {
    const std::size_t block = work.back();
    work.pop_back();
    if (reached[block]) continue;
    reached[block] = true;
    for (const ir::BlockId next : blocks[block].successors) work.push_back(static_cast<std::size_t>(next));
  }
  // The blocks that are left, in their order.
  std::vector<ir::BlockId> renamed(blocks.size());
  std::vector<ir::Block> kept;
  std::vector<const clang::Stmt*> kept_terminators;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!reached[i]) continue;
    renamed[i] = ir::BlockId{static_cast<std::uint32_t>(kept.size())};
    kept.push_back(std::move(blocks[i]));
    kept_terminators.push_back(terminators[i]);
  }
  for (ir::Block& block : kept)
    for (ir::BlockId& next : block.successors) next = renamed[static_cast<std::size_t>(next)];
  blocks = std::move(kept);
  terminators = std::move(kept_terminators);
}

void drop_idle_touches(ir::Function& function) {
  llvm::DenseSet<std::uint32_t> used;
  const auto use = [&](ir::PlaceId place) {
    if (place != ir::kNoPlace) used.insert(static_cast<std::uint32_t>(root_of(function, place)));
  };
  for (ir::Block& block : function.blocks) {
    for (ir::Op& op : block.ops) {
      if (op.kind == OpKind::HostAccess || op.kind == OpKind::EndOfLife || op.kind == OpKind::Fresh) continue;
      // Memory that is only made here, by new or malloc, is not yet used.
      const bool made = op.kind == OpKind::Allocate && op.memory == ordering::MemoryKind::Pageable;
      if (!made && (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Null)) use(op.target);
      for_each_operand(op, [&](const Operand& operand) { use(operand.place); });
    }
  }
  const auto idle = [&](const Operand& memory) {
    const ir::PlaceId root = root_of(function, memory.place);
    if (root == ir::kNoPlace) return true;
    return own(function, root) && !used.contains(static_cast<std::uint32_t>(root));
  };
  for (ir::Block& block : function.blocks) {
    for (ir::Op& op : block.ops)
      if (op.kind == OpKind::HostAccess)
        std::erase_if(op.accesses, [&](const ir::Access& access) { return idle(access.memory); });
    std::erase_if(block.ops, [&](const ir::Op& op) {
      return (op.kind == OpKind::HostAccess && op.accesses.empty()) ||
             (op.kind == OpKind::EndOfLife && idle(op.source));
    });
  }
}

/// `cudaPointerGetAttributes(&is, p); return is.type == cudaMemoryTypeDevice ? fetch(p) : *p;`: the host uses p itself
/// where it is no memory that this function, or its caller, works on with a stream.
void drop_asked_touches(ir::Function& function, const Terminators& terminators,
                        const llvm::DenseSet<std::uint32_t>& asked) {
  if (asked.empty()) return;
  const auto is_asked = [&](const ir::Access& access) {
    for (ir::PlaceId at = access.memory.place; at != ir::kNoPlace; at = function[at].base)
      if (asked.contains(static_cast<std::uint32_t>(at))) return true;
    return false;
  };
  const auto loops = natural_loops(function, terminators);
  const auto avoidable = [&](std::size_t block) {
    // A loop is as certain as its head.
    std::size_t most = 0;
    const std::size_t inside = block;
    for (const Loop& loop : loops)
      if (loop.has(inside) && loop.blocks.size() > most) block = loop.head, most = loop.blocks.size();
    if (block == 0) return false;
    const std::vector<bool> around =
        ir::reached(function, {0}, [block](std::size_t, std::size_t to) { return to != block; });
    for (std::size_t end = 0; end < around.size(); ++end)
      if (around[end] && function.blocks[end].successors.empty()) return true;
    return false;
  };
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    auto& ops = function.blocks[block].ops;
    const auto concerned = [&](const ir::Op& op) {
      return op.kind == OpKind::HostAccess && std::any_of(op.accesses.begin(), op.accesses.end(), is_asked);
    };
    if (std::none_of(ops.begin(), ops.end(), concerned) || !avoidable(block)) continue;
    for (ir::Op& op : ops)
      if (op.kind == OpKind::HostAccess) std::erase_if(op.accesses, is_asked);
    std::erase_if(ops, [](const ir::Op& op) { return op.kind == OpKind::HostAccess && op.accesses.empty(); });
  }
}

/// Marks what decides branches and is known: given constants, or stepped, and asked for by more than a loop's head.
void read_flags(const ir::Function& function, const Terminators& terminators, Integers& read) {
  llvm::DenseSet<std::uint32_t> given, unknown;
  for (const ir::Block& block : function.blocks)
    for (const ir::Op& op : block.ops) {
      if (op.target == ir::kNoPlace) continue;
      const auto target = static_cast<std::uint32_t>(op.target);
      const bool assigned = op.kind == OpKind::Assign;
      const bool number = assigned && op.source.kind == Operand::Kind::Number;
      if (number && function[op.source.offset].constant) given.insert(target);
      if (!number && !(assigned && op.source.kind == Operand::Kind::Value)) unknown.insert(target);
    }
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    const ir::ExprId condition = function.blocks[i].condition;
    const clang::Stmt* asks = i < terminators.size() ? terminators[i] : nullptr;
    const bool counts_rounds =
        asks != nullptr && llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(asks);
    if (condition == ir::kNoExpr || counts_rounds) continue;
    for (const ir::PlaceId use : function[condition].uses) {
      const auto id = static_cast<std::uint32_t>(use);
      if (given.contains(id) && !unknown.contains(id)) read.keep(use);
    }
  }
}

/// Marks what the loops count in which a container may grow: how much it grows is known by that.
void read_counters(const ir::Function& function, const Terminators& terminators, Integers& read) {
  const auto grows = [&](const ir::Op& op) {
    return op.kind == OpKind::Call ||
           (op.kind == OpKind::Assign && op.target != ir::kNoPlace && ir::is(function[op.target], ir::Hidden::Size));
  };
  for (const Loop& loop : natural_loops(function, terminators)) {
    const ir::ExprId condition = function.blocks[loop.head].condition;
    const bool counts = condition != ir::kNoExpr &&
                        llvm::isa_and_nonnull<clang::ForStmt, clang::CXXForRangeStmt>(loop.statement) &&
                        std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](std::size_t block) {
                          const auto& ops = function.blocks[block].ops;
                          return std::any_of(ops.begin(), ops.end(), grows);
                        });
    if (!counts) continue;
    for (const ir::PlaceId use : function[condition].uses) read.keep(use);
  }
}

void drop_idle_integers(ir::Function& function, const Terminators& terminators) {
  const auto writes_own_integer = [&](const ir::Op& op) {
    return (op.kind == OpKind::Fresh || op.kind == OpKind::Assign) && op.target != ir::kNoPlace &&
           function[op.target].type == TypeKind::Integer && own(function, op.target);
  };
  // An integer copied only into unused integers is unused.
  Integers read(function);
  read_flags(function, terminators, read);
  read_counters(function, terminators, read);
  for (std::size_t before = SIZE_MAX, now = 0; before != now;) {
    before = now;
    now = 0;
    for (ir::Block& block : function.blocks)
      for (ir::Op& op : block.ops)
        if (!writes_own_integer(op) || read.has(op.target)) read.read(op), ++now;
  }
  for (ir::Block& block : function.blocks) {
    std::erase_if(block.ops, [&](const ir::Op& op) { return writes_own_integer(op) && !read.has(op.target); });
    if (block.condition == ir::kNoExpr) continue;
    const auto& uses = function[block.condition].uses;
    // A condition on values that are no longer tracked is dropped.
    if (std::any_of(uses.begin(), uses.end(), [&](ir::PlaceId use) { return own(function, use) && !read.has(use); }))
      block.condition = ir::kNoExpr;
  }
}

}  // namespace

void trim(Unit& unit, ir::Function& function, Terminators terminators, Source& source, bool root,
          const llvm::DenseSet<std::uint32_t>& asked) {
  drop_dead_ends(function, terminators);
  drop_asked_touches(function, terminators, asked);
  drop_idle_touches(function);
  spread_accesses(unit, function, terminators, source);
  if (root || touches_elements(function, terminators) || flags_decide(function, terminators)) {
    flatten_loops(unit, function, terminators);
    drop_dead_ends(function, terminators);
  } else {
    outline(function);
  }
  drop_idle_integers(function, terminators);
}

}  // namespace streamsan::analyzer::host
