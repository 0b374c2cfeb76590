// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of a control flow graph that is given by the successors of each block.
#include "analyzer/ir/walk.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

Function graph(const std::vector<std::vector<std::uint32_t>>& successors) {
  Function function;
  for (const auto& of_block : successors) {
    Block& block = function.blocks.emplace_back();
    for (const std::uint32_t to : of_block) block.successors.push_back(static_cast<BlockId>(to));
  }
  return function;
}

TEST(Walk, AFunctionWithoutBlocksHasNoBackEdge) { EXPECT_TRUE(back_edges(Function{}).empty()); }

TEST(Walk, BranchesThatMeetAreNoLoop) {
  const Function diamond = graph({{1, 2}, {3}, {3}, {}});
  EXPECT_EQ(back_edges(diamond), Edges{});
  EXPECT_EQ(blocks_in_loops(diamond), (std::vector<bool>{false, false, false, false}));
}

TEST(Walk, ALoopHasOneForEachWayBackToItsHead) {
  // 1 is the head; 2 may continue, 3 ends the round.
  const Function loop = graph({{1}, {2, 4}, {1, 3}, {1}, {}});
  EXPECT_EQ(back_edges(loop), (Edges{{2, 1}, {3, 1}}));
  EXPECT_EQ(blocks_in_loops(loop), (std::vector<bool>{false, true, true, true, false}));
}

TEST(Walk, InnerLoopsAreFoundBeforeTheirOuterOnes) {
  const Function nested = graph({{1}, {2, 4}, {2, 3}, {1}, {}});
  EXPECT_EQ(back_edges(nested), (Edges{{2, 2}, {3, 1}}));
}

TEST(Walk, WhatNothingLeadsToHasNone) {
  const Function dead = graph({{}, {1}});
  EXPECT_EQ(back_edges(dead), Edges{});
  EXPECT_EQ(blocks_in_loops(dead), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace streamsan::analyzer::ir
