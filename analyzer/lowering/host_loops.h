// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of a finished function, and how an op in one is reached.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/ir/ir.h"
#include "llvm/ADT/DenseMap.h"

namespace clang {
class Stmt;
}

namespace streamsan::analyzer::host {

struct Unit;

/// By block: the statement of the source that decides what comes next, or nullptr.
using Terminators = std::vector<const clang::Stmt*>;

struct Loop {
  std::size_t head = 0;
  const clang::Stmt* statement = nullptr;          ///< that decides in the head
  std::vector<std::size_t> blocks;                 ///< in ascending order
  llvm::DenseMap<std::uint32_t, unsigned> writes;  ///< by place: how often it is written
  [[nodiscard]] bool has(std::size_t block) const;
};

/// Small ones first.
std::vector<Loop> natural_loops(const ir::Function& function, const Terminators& terminators);
/// Sets Block::loop_head.
void mark_loops(ir::Function& function);

/// Nothing is enqueued, waited for or asked.
bool only_host(const Unit& unit, const ir::Function& function, const Loop& loop);
/// The head decides whether another round begins.
bool asks_for_rounds(const Loop& loop);
/// Every round that begins comes through the block.
bool passes(const ir::Function& function, const Loop& loop, std::size_t block);
/// Something else than the head ends it.
bool leaves_early(const ir::Function& function, const Loop& loop);

/// A place has another value once one of these is written: `map[i]` when i is.
template <typename Written>
bool changes(const ir::Function& function, ir::PlaceId place, const Written& written) {
  if (place == ir::kNoPlace) return false;
  if (written.contains(static_cast<std::uint32_t>(place))) return true;
  const ir::Place& at = function[place];
  if (at.index != ir::kNoExpr)
    for (const ir::PlaceId use : function[at.index].uses)
      if (changes(function, use, written)) return true;
  return changes(function, at.base, written);
}
/// The same of an expression, in a round of the loop.
bool varies(const ir::Function& function, ir::ExprId expr, const Loop& loop);

}  // namespace streamsan::analyzer::host
