// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers that are emptied and filled again.
//
//   ids.clear();
//   for (int i : chosen) ids.push_back(i);
//
// The container keeps its block, so the first push_back() overwrites what the block begins with, and the block may
// still be read by a copy. Which push_back() is the first, the control flow says: it is written down where the
// container is emptied, if it is filled from there on before anything that could wait. A loop that fills is taken to
// have a round. Where waiting may come in between, nothing is written down: that misses, and invents nothing.
#include "analyzer/lowering/host_refills.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace streamsan::analyzer::host {
namespace {

using ir::OpKind;

bool may_wait_or_end(const ir::Op& op) {
  switch (op.kind) {
    case OpKind::SyncStream:
    case OpKind::SyncEvent:
    case OpKind::SyncDevice:
    case OpKind::QueryStream:
    case OpKind::QueryEvent:
    case OpKind::Free:
    case OpKind::EndOfLife:
    case OpKind::Call:
    case OpKind::Return:
    case OpKind::Escape:
    case OpKind::MaySync:
      return true;
    default:
      return false;
  }
}

/// A write somewhere in the block: push_back().
bool adds_to(const ir::Op& op, ir::PlaceId block) {
  return op.kind == OpKind::HostAccess && op.detail.empty() && op.accesses.size() == 1 &&
         op.accesses[0].mode == ir::Mode::Write && op.accesses[0].memory.place == block &&
         op.accesses[0].memory.offset != ir::kNoExpr;
}

/// From op `first` of `from` on, and not beyond `start` again: the first ops for which `stop` holds, by block and
/// number.
template <typename Stop>
std::vector<std::pair<std::size_t, std::size_t>> first_ops(const ir::Function& function, std::size_t from,
                                                           std::size_t first, std::size_t start, Stop stop) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  std::vector<bool> seen(function.blocks.size());
  seen[start] = true;
  std::vector<std::pair<std::size_t, std::size_t>> work{{from, first}};
  while (!work.empty()) {
    const auto [block, begin] = work.back();
    work.pop_back();
    const auto& ops = function.blocks[block].ops;
    std::size_t at = begin;
    while (at < ops.size() && !stop(ops[at])) ++at;
    if (at < ops.size()) {
      found.emplace_back(block, at);
      continue;
    }
    for (const ir::BlockId next : function.blocks[block].successors)
      if (const auto to = static_cast<std::size_t>(next); !seen[to]) seen[to] = true, work.emplace_back(to, 0);
  }
  return found;
}

/// Where the container is filled after op `first` of `start`; absent: perhaps after a wait, or not at all.
std::optional<ir::SiteId> filled_after(const ir::Function& function, std::size_t start, std::size_t first,
                                       ir::PlaceId block) {
  const auto fills = [block](const ir::Op& op) { return adds_to(op, block); };
  std::optional<ir::SiteId> filled;
  for (const auto& [at, number] : first_ops(function, start, first + 1, start,
                                            [&](const ir::Op& op) { return fills(op) || may_wait_or_end(op); })) {
    const ir::Op& op = function.blocks[at].ops[number];
    if (fills(op)) {
      filled = op.site;
    } else if (!first_ops(function, at, number + 1, start, fills).empty()) {
      return std::nullopt;
    }
  }
  return filled;
}

}  // namespace

void settle_refills(ir::Function& function) {
  for (std::size_t number = 0; number < function.blocks.size(); ++number) {
    auto& ops = function.blocks[number].ops;
    for (std::size_t i = 0; i < ops.size();) {
      if (ops[i].kind != OpKind::HostAccess || ops[i].detail != kRefill) {
        ++i;
        continue;
      }
      const auto filled = filled_after(function, number, i, ops[i].accesses[0].memory.place);
      if (!filled) {
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      ops[i].detail.clear();
      ops[i++].site = *filled;
    }
  }
}

}  // namespace streamsan::analyzer::host
