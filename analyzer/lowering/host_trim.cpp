// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is taken out of a function again once it is lowered.
//
// The analysis pays for every op in every function that calls this one, so what nobody can notice goes:
//
//   * Dead ends: blocks from which there is no way but to exit(), abort() or throw. What an error path does before the
//     process ends concerns no stream.
//   * Host accesses of memory that was never given to anything but the host's own accesses, and new versions of
//     integers that no index, offset or size reads.
//   * In a function that does nothing to streams, nor do its callees: the paths. `fill(h, n)` is a list of what it
//     touches, in the order of its blocks, each once. A pointer that was set in several places is unknown, and so is
//     what is returned in several ways. That an access stands on some paths only is lost: it is taken to happen, as on
//     the path where it does. The same of loops in which only the host works (host_loops.cpp).
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "analyzer/lowering/host_body.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

namespace {

ir::PlaceId root_of(const ir::Function& function, ir::PlaceId place) {
  while (place != ir::kNoPlace && function[place].base != ir::kNoPlace) place = function[place].base;
  return place;
}

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

}  // namespace

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

void Body::trim() {
  drop_dead_ends();
  drop_idle_touches();
  spread_accesses();
  if (!unit_.census.is_root(definition_)) {
    outline();
  } else {
    flatten_loops();
    drop_dead_ends();
  }
  drop_idle_integers();
}

void Body::drop_dead_ends() {
  auto& blocks = function_.blocks;
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
    kept_terminators.push_back(terminators_[i]);
  }
  for (ir::Block& block : kept)
    for (ir::BlockId& next : block.successors) next = renamed[static_cast<std::size_t>(next)];
  blocks = std::move(kept);
  terminators_ = std::move(kept_terminators);
}

void Body::drop_idle_touches() {
  llvm::DenseSet<std::uint32_t> used;
  const auto use = [&](ir::PlaceId place) {
    if (place != ir::kNoPlace) used.insert(static_cast<std::uint32_t>(root_of(function_, place)));
  };
  for (ir::Block& block : function_.blocks) {
    for (ir::Op& op : block.ops) {
      if (op.kind == OpKind::HostAccess || op.kind == OpKind::EndOfLife || op.kind == OpKind::Fresh) continue;
      // Memory that is only made here, by new or malloc, is not yet used.
      const bool made = op.kind == OpKind::Allocate && op.memory == ordering::MemoryKind::Pageable;
      if (!made && (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Null)) use(op.target);
      for_each_operand(op, [&](const Operand& operand) { use(operand.place); });
    }
  }
  const auto idle = [&](const Operand& memory) {
    const ir::PlaceId root = root_of(function_, memory.place);
    if (root == ir::kNoPlace) return true;
    return own(function_, root) && !used.contains(static_cast<std::uint32_t>(root));
  };
  for (ir::Block& block : function_.blocks) {
    for (ir::Op& op : block.ops)
      if (op.kind == OpKind::HostAccess)
        std::erase_if(op.accesses, [&](const ir::Access& access) { return idle(access.memory); });
    std::erase_if(block.ops, [&](const ir::Op& op) {
      return (op.kind == OpKind::HostAccess && op.accesses.empty()) ||
             (op.kind == OpKind::EndOfLife && idle(op.source));
    });
  }
}

/// Marks what decides branches and is known: given constants, or stepped, and asked for by more than a loop's head.
void Body::read_flags(host::Integers& read) {
  llvm::DenseSet<std::uint32_t> given, unknown;
  for (const ir::Block& block : function_.blocks)
    for (const ir::Op& op : block.ops) {
      if (op.target == ir::kNoPlace) continue;
      const auto target = static_cast<std::uint32_t>(op.target);
      const bool assigned = op.kind == OpKind::Assign;
      const bool number = assigned && op.source.kind == Operand::Kind::Number;
      if (number && function_[op.source.offset].constant) given.insert(target);
      if (!number && !(assigned && op.source.kind == Operand::Kind::Value)) unknown.insert(target);
    }
  for (std::size_t i = 0; i < function_.blocks.size(); ++i) {
    const ir::ExprId condition = function_.blocks[i].condition;
    const clang::Stmt* asks = i < terminators_.size() ? terminators_[i] : nullptr;
    const bool counts_rounds =
        asks != nullptr && llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt>(asks);
    if (condition == ir::kNoExpr || counts_rounds) continue;
    for (const ir::PlaceId use : function_[condition].uses) {
      const auto id = static_cast<std::uint32_t>(use);
      if (given.contains(id) && !unknown.contains(id)) read.keep(use);
    }
  }
}

void Body::drop_idle_integers() {
  const auto writes_own_integer = [this](const ir::Op& op) {
    return (op.kind == OpKind::Fresh || op.kind == OpKind::Assign) && op.target != ir::kNoPlace &&
           kind(op.target) == TypeKind::Integer && own(function_, op.target);
  };
  // An integer that is only copied into idle integers is idle.
  Integers read(function_);
  read_flags(read);
  for (std::size_t before = SIZE_MAX, now = 0; before != now;) {
    before = now;
    now = 0;
    for (ir::Block& block : function_.blocks)
      for (ir::Op& op : block.ops)
        if (!writes_own_integer(op) || read.has(op.target)) read.read(op), ++now;
  }
  for (ir::Block& block : function_.blocks) {
    std::erase_if(block.ops, [&](const ir::Op& op) { return writes_own_integer(op) && !read.has(op.target); });
    if (block.condition == ir::kNoExpr) continue;
    const auto& uses = function_[block.condition].uses;
    // A condition on what is no longer followed says nothing.
    if (std::any_of(uses.begin(), uses.end(), [&](ir::PlaceId use) { return own(function_, use) && !read.has(use); }))
      block.condition = ir::kNoExpr;
  }
}

std::vector<ir::Op> Body::without_paths(const std::vector<std::size_t>& blocks, bool in_loop) {
  const auto writes_place = [](const ir::Op& op) { return op.target != ir::kNoPlace && op.kind != OpKind::Call; };
  llvm::DenseMap<std::uint32_t, unsigned> writes;
  for (const std::size_t block : blocks)
    for (const ir::Op& op : function_.blocks[block].ops)
      if (op.target != ir::kNoPlace) ++writes[static_cast<std::uint32_t>(op.target)];
  std::vector<ir::Op> list, moved_on;
  llvm::DenseSet<std::uint32_t> unknown_now;
  for (const std::size_t block : blocks) {
    for (ir::Op& op : function_.blocks[block].ops) {
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
      if (op.kind == OpKind::SetDevice) op.detail.clear();
      // What is made from something that moves on has another value in the end.
      if (op.kind == OpKind::Assign && op.source.place != ir::kNoPlace &&
          writes.contains(static_cast<std::uint32_t>(root_of(function_, op.source.place))))
        moved_on.push_back({.kind = OpKind::Fresh, .site = op.site, .target = op.target});
      if (writes_place(op) && writes[static_cast<std::uint32_t>(op.target)] > 1) {
        if (unknown_now.insert(static_cast<std::uint32_t>(op.target)).second)
          list.push_back({.kind = OpKind::Fresh, .site = op.site, .target = op.target});
        continue;
      }
      list.push_back(std::move(op));
    }
  }
  if (in_loop) std::move(moved_on.begin(), moved_on.end(), std::back_inserter(list));
  return list;
}

void Body::outline() {
  std::vector<Operand> returned;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < function_.blocks.size(); ++i) {
    all.push_back(i);
    std::erase_if(function_.blocks[i].ops, [&](const ir::Op& op) {
      if (op.kind != OpKind::Return) return false;
      if (std::find(returned.begin(), returned.end(), op.source) == returned.end()) returned.push_back(op.source);
      return true;
    });
  }
  ir::Op last{.kind = OpKind::Return, .site = function_.site};
  if (returned.size() == 1) last.source = returned.front();
  if (returned.size() > 1) last.source = unknown();
  std::vector<ir::Op> list = without_paths(all, /*in_loop=*/false);
  list.push_back(std::move(last));
  function_.blocks.assign(1, {});
  function_.blocks[0].ops = std::move(list);
}

}  // namespace streamsan::analyzer::host
