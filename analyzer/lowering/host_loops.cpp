// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops in which only the host works.
//
// Nothing is enqueued while such a loop runs, so its rounds need not be told apart: `for (i = a; i < b; ++i) h[i] = 0;`
// is one access that begins at `h + a` and is as long as `b - a` elements. Which memory that is, is found out in
// host_rounds.cpp, for the innermost loop first. Here it is found out whether an access happens in every round, as far
// as one begins: only then the loop surely touches what it counts through. One under any condition, that of a loop
// around it too, or behind a way out of the loop, may be meant for other rounds than those that meet a copy.
//
// An inner loop is taken to have a round, like every loop, if what it counts from and to is the same in all rounds of
// the outer one. A function that is called is taken to do what it does if nothing in it branches.
//
// What is then left of a loop with one way out is a list.
#include <algorithm>
#include <map>
#include <set>

#include "analyzer/lowering/host_body.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

namespace {

bool within(const std::vector<std::size_t>& blocks, std::size_t block) {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

bool throws(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  return llvm::isa<clang::CXXThrowExpr>(statement) ||
         std::any_of(statement->child_begin(), statement->child_end(), throws);
}

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

bool Body::asks_for_rounds(const Loop& loop) const {
  const clang::Stmt* asks = terminators_[loop.head];
  return asks != nullptr && llvm::isa<clang::ForStmt, clang::WhileStmt, clang::CXXForRangeStmt>(asks);
}

bool Body::passes(const Loop& loop, std::size_t block) const {
  if (block == loop.head) return true;
  std::set<std::size_t> seen{block};
  std::vector<std::size_t> work{loop.head};
  while (!work.empty()) {
    const std::size_t at = work.back();
    work.pop_back();
    for (const ir::BlockId successor : function_.blocks[at].successors) {
      const auto next = static_cast<std::size_t>(successor);
      const bool leaves = !within(loop.blocks, next);
      if (leaves && at == loop.head && asks_for_rounds(loop)) continue;
      if (leaves || next == loop.head) return false;
      if (seen.insert(next).second) work.push_back(next);
    }
  }
  return true;
}

bool Body::leaves_early(const Loop& loop) const {
  if (!asks_for_rounds(loop) || throws(terminators_[loop.head])) return true;
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](std::size_t block) {
    const auto& successors = function_.blocks[block].successors;
    return block != loop.head && !std::all_of(successors.begin(), successors.end(), [&](ir::BlockId next) {
             return within(loop.blocks, static_cast<std::size_t>(next));
           });
  });
}

bool Body::in_all_rounds(const std::vector<Loop>& loops, std::size_t loop, std::size_t block) {
  // Small loops come first: the last one that is smaller and has the block is the one directly inside.
  const Loop& outer = loops[loop];
  for (std::size_t i = loop; i-- > 0;) {
    const Loop& inner = loops[i];
    if (inner.head == outer.head || !within(outer.blocks, inner.head) || !within(inner.blocks, block)) continue;
    return passes(outer, inner.head) &&
           (block == inner.head || (begins_in_all_rounds(inner, outer) && in_all_rounds(loops, i, block)));
  }
  return passes(outer, block);
}

void Body::spread_accesses() {
  const std::vector<Loop> loops = natural_loops();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Loop& loop = loops[i];
    if (!only_host(loop)) continue;
    Reached reached{.in_all_rounds = false, .to_the_end = !leaves_early(loop), .uncertain = {}};
    std::vector<bool> in_all;
    for (const std::size_t block : loop.blocks) {
      const auto& ops = function_.blocks[block].ops;
      in_all.push_back(!ops.empty() && in_all_rounds(loops, i, block));
      if (in_all.back()) continue;
      for (const ir::Op& op : ops)
        if (op.target != ir::kNoPlace) reached.uncertain.insert(static_cast<std::uint32_t>(op.target));
    }
    for (std::size_t number = 0; number < loop.blocks.size(); ++number) {
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

void Body::flatten_loops() {
  for (bool changed = true; changed;) {
    changed = false;
    const auto loops = natural_loops();
    for (const Loop& loop : loops) {
      const std::vector<std::size_t>& body = loop.blocks;
      std::optional<ir::BlockId> exit;
      bool simple = only_host(loop);
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
      function_.blocks[loop.head] = {.ops = std::move(list), .successors = {*exit}};
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
  for (const auto& [head, body] : loops) {
    if (body.count(0) != 0 && head != 0) continue;
    Loop loop;
    loop.head = head;
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

}  // namespace streamsan::analyzer::host
