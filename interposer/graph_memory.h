// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that the nodes of executable graphs use: each launch of the graph lends it (host/loans.h).
//
// For each executable graph that has any, a page with a list. An update adds to the list: what a node has used before
// may then be lent for nothing, which costs a record that turns out to be harmless. What does not fit in the page, or
// of executable graphs beyond the table, is not lent: less is seen of the host.
#pragma once

#include <cstdint>

#include "interposer/host/loans.h"

namespace streamsan::recorder {

struct GraphRange {
  std::uint64_t begin;
  std::uint64_t bytes;
  LoanUse use;
  bool pageable;  ///< may be: the call said that it is on the host
  bool gaps;      ///< not all of the bytes are used
};

/// A node of the executable graph uses the bytes; noted if they may be the host's.
void keep_range_of_graph(std::uint64_t exec, const GraphRange& range);
/// A kernel in it was given this trace::pointer_word().
void keep_pointer_of_graph(std::uint64_t exec, std::uint64_t pointer);
/// The handle has a new life.
void forget_memory_of_graph(std::uint64_t exec);

}  // namespace streamsan::recorder
