// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a function smaller before it is written to a summary: what no caller can notice is left out.
//
//   1. Ops that only write, touch or end a variable of the function that nothing reads. Dropping one may free the
//      next, so this runs until nothing is found. A variable counts as read wherever it is read, reachable or not.
//   2. Blocks: a block that is entered from one other only joins it; empty ones are jumped over; unreachable ones go.
//      Back edges stay as they are, with the blocks they start from: loops are found by them.
//   3. Places, expressions and sites that nothing refers to; ids change.
//
// What is kept is what a caller sees: every op on memory reached through parameters, `this` and globals, every handle,
// and the order of all of them on every path.
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

std::size_t at(ExprId id) { return static_cast<std::size_t>(id); }
std::size_t at(SiteId id) { return static_cast<std::size_t>(id); }

/// Marks the variables whose values somebody reads.
class Reads {
 public:
  /// `objects`: those that are given by value count as read.
  explicit Reads(const Function& function, bool objects)
      : function_(function), variables_(function), read_(function.places.size()), exprs_(function.exprs.size()) {
    for (std::size_t id = 0; objects && id < read_.size(); ++id)
      read_[id] = function.places[id].kind == Place::Kind::Parameter && function.places[id].type == TypeKind::Object;
    for (const Block& block : function.blocks) {
      for (const Op& op : block.ops) {
        mark(op);
      }
      expr(block.condition);
    }
  }

  [[nodiscard]] bool is_dead(PlaceId path) const {
    return variables_.is_own_part(path) && !read_[at(root(function_, path).place)];
  }

  [[nodiscard]] bool is_dead(OpKind kind, const Operand& operand) const {
    return variables_.is_own_bytes(kind, operand) && is_dead(operand.place);
  }

 private:
  void mark(const Op& op) {
    if (op.target != kNoPlace) {
      const bool only_written =
          (op.kind == OpKind::Assign || op.kind == OpKind::Fresh) && variables_.is_own_part(op.target);
      only_written ? indices(op.target) : path(op.target);
    }
    for_each_operand(op, [&](const Operand& operand) {
      expr(operand.offset);
      if (operand.place != kNoPlace) {
        variables_.is_own_bytes(op.kind, operand) ? indices(operand.place) : path(operand.place);
      }
    });
    for (const Access& access : op.accesses) {
      expr(access.bytes);
    }
  }

  void path(PlaceId id) {
    read_[at(root(function_, id).place)] = true;
    indices(id);
  }

  void indices(PlaceId id) {
    for (; id != kNoPlace; id = function_[id].base) {
      expr(function_[id].index);
    }
  }

  void expr(ExprId id) {
    if (id == kNoExpr || exprs_[at(id)]) {
      return;
    }
    exprs_[at(id)] = true;
    for (const PlaceId use : function_[id].uses) {
      path(use);
    }
  }

  const Function& function_;
  Variables variables_;
  std::vector<bool> read_;
  std::vector<bool> exprs_;  ///< marked already
};

bool is_dead(const Reads& reads, Op& op) {
  switch (op.kind) {
    case OpKind::Assign:
    case OpKind::Fresh:
      return reads.is_dead(op.target);
    case OpKind::EndOfLife:
    case OpKind::Escape:
      return reads.is_dead(op.kind, op.source);
    case OpKind::HostAccess:
      std::erase_if(op.accesses, [&](const Access& access) { return reads.is_dead(op.kind, access.memory); });
      return op.accesses.empty();
    default:
      return false;
  }
}

bool drop_dead_ops(Function& function, bool keep_objects) {
  const Reads reads(function, keep_objects);
  std::size_t dropped = 0;
  for (Block& block : function.blocks) {
    dropped += std::erase_if(block.ops, [&](Op& op) { return is_dead(reads, op); });
  }
  return dropped != 0;
}

/// Where a jump to `block` ends up if empty blocks are jumped over.
BlockId destination(const Function& function, BlockId block) {
  for (std::size_t steps = 0; steps < function.blocks.size(); ++steps) {
    const Block& here = function.blocks[at(block)];
    if (!here.ops.empty() || here.successors.size() != 1 || here.loop_head ||
        function.blocks[at(here.successors[0])].loop_head) {
      break;
    }
    block = here.successors[0];
  }
  return block;
}

void jump_over_empty_blocks(Function& function) {
  for (Block& block : function.blocks) {
    for (BlockId& next : block.successors) {
      next = destination(function, next);
    }
    if (std::ranges::adjacent_find(block.successors, std::not_equal_to{}) == block.successors.end() &&
        block.successors.size() > 1) {
      block.successors.resize(1);
      block.condition = kNoExpr;
    }
  }
}

/// In reverse postorder: a block comes after those that lead to it, back edges aside, and what a branch does where its
/// condition holds comes first.
std::vector<BlockId> reachable(const Function& function) {
  std::vector<BlockId> finished;
  std::vector<bool> seen(function.blocks.size());
  std::vector<std::pair<BlockId, std::size_t>> open{{BlockId{0}, function.blocks[0].successors.size()}};
  seen[0] = true;
  while (!open.empty()) {
    auto& [block, left] = open.back();
    if (left == 0) {
      finished.push_back(block);
      open.pop_back();
      continue;
    }
    const BlockId next = function.blocks[at(block)].successors[--left];
    if (!seen[at(next)]) {
      seen[at(next)] = true;
      open.emplace_back(next, function.blocks[at(next)].successors.size());
    }
  }
  std::ranges::reverse(finished);
  return finished;
}

void keep_blocks(Function& function, const std::vector<BlockId>& kept) {
  std::vector<BlockId> renamed(function.blocks.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    renamed[at(kept[i])] = BlockId{static_cast<std::uint32_t>(i)};
  }
  std::vector<Block> blocks;
  blocks.reserve(kept.size());
  for (const BlockId id : kept) {
    Block& block = blocks.emplace_back(std::move(function.blocks[at(id)]));
    for (BlockId& next : block.successors) {
      next = renamed[at(next)];
    }
  }
  function.blocks = std::move(blocks);
}

/// Joins each block with its only successor where that has no other way in.
void join_chains(Function& function) {
  const std::vector<BlockId> reached = reachable(function);
  std::vector<std::uint32_t> entries(function.blocks.size());
  entries[0] = 1;
  for (const BlockId id : reached) {
    for (const BlockId next : function.blocks[at(id)].successors) {
      ++entries[at(next)];
    }
  }
  for (const BlockId id : reached) {
    Block& block = function.blocks[at(id)];
    while (block.successors.size() == 1 && block.condition == kNoExpr && entries[at(block.successors[0])] == 1 &&
           block.successors[0] != id && !function.blocks[at(block.successors[0])].loop_head) {
      Block& next = function.blocks[at(block.successors[0])];
      std::ranges::move(next.ops, std::back_inserter(block.ops));
      block.condition = next.condition;
      block.successors = std::exchange(next.successors, {});
      next.ops.clear();
    }
  }
}

/// Renumbers a table to what is marked.
template <typename Id, typename Entry>
class Kept {
 public:
  explicit Kept(std::vector<Entry>& table) : table_(table), ids_(table.size(), kDropped) {}

  /// False if it was marked before.
  bool mark(Id id) {
    if (static_cast<std::uint32_t>(id) == UINT32_MAX || ids_[at(id)] != kDropped) {
      return false;
    }
    ids_[at(id)] = 0;
    return true;
  }

  /// The table without the unmarked.
  void pack() {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] != kDropped) {
        ids_[i] = size;
        if (size != i) {
          table_[size] = std::move(table_[i]);
        }
        ++size;
      }
    }
    table_.resize(size);
  }

  void rename(Id& id) const {
    if (static_cast<std::uint32_t>(id) != UINT32_MAX) {
      id = Id{ids_[at(id)]};
    }
  }

 private:
  static constexpr std::uint32_t kDropped = UINT32_MAX;
  std::vector<Entry>& table_;
  std::vector<std::uint32_t> ids_;
};

class Packer {
 public:
  explicit Packer(Function& function)
      : function_(function), places_(function.places), exprs_(function.exprs), sites_(function.sites) {}

  void pack() {
    visit([this](PlaceId& id) { mark(id); }, [this](ExprId& id) { mark(id); }, [this](SiteId& id) { mark(id); });
    places_.pack();
    exprs_.pack();
    sites_.pack();
    const auto place = [this](PlaceId& id) { places_.rename(id); };
    const auto expr = [this](ExprId& id) { exprs_.rename(id); };
    const auto site = [this](SiteId& id) { sites_.rename(id); };
    visit(place, expr, site);
    for (Place& entry : function_.places) {
      place(entry.base);
      expr(entry.index);
    }
    for (Expr& entry : function_.exprs) {
      std::ranges::for_each(entry.uses, place);
    }
    for (Site& entry : function_.sites) {
      site(entry.call);
    }
    function_.place_index = {};
    function_.expr_index = {};
  }

 private:
  template <typename VisitPlace, typename VisitExpr, typename VisitSite>
  void visit(VisitPlace&& place, VisitExpr&& expr, VisitSite&& site) {
    site(function_.site);
    std::ranges::for_each(function_.parameters, place);
    for (Block& block : function_.blocks) {
      expr(block.condition);
      for (Op& op : block.ops) {
        site(op.site);
        place(op.target);
        for_each_operand(op, [&](Operand& operand) {
          place(operand.place);
          expr(operand.offset);
        });
        for (Access& access : op.accesses) {
          expr(access.bytes);
          site(access.early_site);
        }
      }
    }
  }

  void mark(PlaceId id) {
    if (places_.mark(id)) {
      mark(function_[id].base);
      mark(function_[id].index);
    }
  }

  void mark(ExprId id) {
    if (exprs_.mark(id)) {
      for (const PlaceId use : function_[id].uses) {
        mark(use);
      }
    }
  }

  void mark(SiteId id) {
    if (sites_.mark(id)) {
      mark(function_[id].call);
    }
  }

  Function& function_;
  Kept<PlaceId, Place> places_;
  Kept<ExprId, Expr> exprs_;
  Kept<SiteId, Site> sites_;
};

/// `keep_objects`: what is done to those that are given by value.
void drop_unused(Function& function, bool keep_objects) {
  drop_overwritten(function);
  while (drop_dead_ops(function, keep_objects)) {
  }
  join_blocks(function);
}

}  // namespace

void join_blocks(Function& function) {
  if (function.blocks.empty()) {
    return;
  }
  jump_over_empty_blocks(function);
  join_chains(function);
  keep_blocks(function, reachable(function));
}

void drop_unused(Function& function) { drop_unused(function, false); }

void simplify(Function& function) {
  drop_unused(function);
  Packer(function).pack();
}

void simplify_callee(Function& function) {
  drop_unused(function, true);
  Packer(function).pack();
}

}  // namespace streamsan::analyzer::ir
