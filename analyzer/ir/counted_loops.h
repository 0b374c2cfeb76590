// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over elements and over slots: what they count, and up to where. See counted_loops.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// A loop that counts by one, or whose rounds come back to what was used before.
struct Counted {
  std::size_t head = 0;
  std::set<std::size_t> blocks;
  PlaceId counter = kNoPlace;
  std::int64_t first = 0;
  std::optional<std::int64_t> end;  ///< the counter's first value that it does not run with
  PlaceId number = kNoPlace;        ///< what that is the value of, if it is no constant
  std::int64_t turns = 0;           ///< after so many rounds all slots have been used twice; 0: it has none
  PlaceId slots = kNoPlace;         ///< what holds the number of slots, which is supposed to be 2
};

/// Loops whose head asks `i < bound`, in which something that can be ordered happens and an element is named by `i`,
/// and loops that enqueue work on slots in turn (rings.h). Of the latter a counter is only named if it counts as said.
/// Those inside of others come first. For closed functions.
std::vector<Counted> counted_loops(const Function& function);

/// What can be ordered, or orders.
bool is_ordered(const Op& op);

}  // namespace streamsan::analyzer::ir
