// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of a finished function.
//
// A loop has one head; blocks stand in reverse post-order, so what leads back leads to a lower number. Loops that are
// entered past their head, by goto, are none.
#include "analyzer/lowering/host_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/ir/walk.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {

using ir::OpKind;
using ir::TypeKind;

namespace {

bool throws(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  return llvm::isa<clang::CXXThrowExpr>(statement) ||
         std::any_of(statement->child_begin(), statement->child_end(), throws);
}

bool only_host(const Unit& unit, const ir::Function& function, const ir::Op& op) {
  switch (op.kind) {
    case OpKind::HostAccess:
    case OpKind::Fresh:
    case OpKind::EndOfLife:
      return true;
    case OpKind::Assign: {
      const TypeKind kind = op.target == ir::kNoPlace ? TypeKind::Other : function[op.target].type;
      return kind != TypeKind::Stream && kind != TypeKind::Event;
    }
    case OpKind::Call: {
      const auto callee = unit.usr_owner.find(op.callee);
      return callee != unit.usr_owner.end() && unit.census.lowered(*callee->second) != nullptr &&
             !unit.census.is_root(*callee->second);
    }
    default:
      return false;
  }
}

}  // namespace

bool Loop::has(std::size_t block) const { return std::binary_search(blocks.begin(), blocks.end(), block); }

std::vector<Loop> natural_loops(const ir::Function& function, const Terminators& terminators) {
  const auto& blocks = function.blocks;
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
  for (const auto& [head, body] : loops) {
    if (body.count(0) != 0 && head != 0) continue;
    Loop loop;
    loop.head = head;
    loop.statement = terminators[head];
    loop.blocks.assign(body.begin(), body.end());
    for (const std::size_t block : loop.blocks)
      for (const ir::Op& op : blocks[block].ops)
        if (op.target != ir::kNoPlace) ++loop.writes[static_cast<std::uint32_t>(op.target)];
    result.push_back(std::move(loop));
  }
  std::sort(result.begin(), result.end(),
            [](const Loop& a, const Loop& b) { return a.blocks.size() < b.blocks.size(); });
  return result;
}

void mark_loops(ir::Function& function) {
  for (const auto& [from, head] : ir::back_edges(function)) function.blocks[head].loop_head = true;
}

bool only_host(const Unit& unit, const ir::Function& function, const Loop& loop) {
  return std::all_of(loop.blocks.begin(), loop.blocks.end(), [&](std::size_t block) {
    const auto& ops = function.blocks[block].ops;
    return std::all_of(ops.begin(), ops.end(), [&](const ir::Op& op) { return only_host(unit, function, op); });
  });
}

bool asks_for_rounds(const Loop& loop) {
  return llvm::isa_and_nonnull<clang::ForStmt, clang::WhileStmt, clang::CXXForRangeStmt>(loop.statement);
}

bool passes(const ir::Function& function, const Loop& loop, std::size_t block) {
  if (block == loop.head) return true;
  std::set<std::size_t> seen{block};
  std::vector<std::size_t> work{loop.head};
  while (!work.empty()) {
    const std::size_t at = work.back();
    work.pop_back();
    for (const ir::BlockId successor : function.blocks[at].successors) {
      const auto next = static_cast<std::size_t>(successor);
      const bool leaves = !loop.has(next);
      if (leaves && at == loop.head && asks_for_rounds(loop)) continue;
      if (leaves || next == loop.head) return false;
      if (seen.insert(next).second) work.push_back(next);
    }
  }
  return true;
}

bool leaves_early(const ir::Function& function, const Loop& loop) {
  if (!asks_for_rounds(loop) || throws(loop.statement)) return true;
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](std::size_t block) {
    const auto& successors = function.blocks[block].successors;
    return block != loop.head && !std::all_of(successors.begin(), successors.end(), [&](ir::BlockId next) {
             return loop.has(static_cast<std::size_t>(next));
           });
  });
}

bool varies(const ir::Function& function, ir::ExprId expr, const Loop& loop) {
  return expr != ir::kNoExpr && std::any_of(function[expr].uses.begin(), function[expr].uses.end(),
                                            [&](ir::PlaceId use) { return changes(function, use, loop.writes); });
}

}  // namespace streamsan::analyzer::host
