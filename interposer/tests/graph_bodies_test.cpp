// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/graph_bodies.h"

#include <gtest/gtest.h>

#include <array>

#include "interposer/fork.h"

namespace streamsan::recorder {
namespace {

class GraphBodies : public ::testing::Test {
 protected:
  ~GraphBodies() override { in_child::graph_bodies(); }

  static CUgraph graph(std::uint64_t handle) { return reinterpret_cast<CUgraph>(handle); }
  static void keep(std::uint64_t node, CUgraph* graphs, unsigned count) {
    CUDA_CONDITIONAL_NODE_PARAMS given{};
    given.size = count;
    given.phGraph_out = graphs;
    keep_bodies(node, given);
  }

  std::array<CUgraph, 3> first{graph(0x100), graph(0x110), graph(0x120)};
  std::array<CUgraph, 1> second{graph(0x200)};
};

TEST_F(GraphBodies, AreThoseOfTheirNode) {
  keep(0x1000, first.data(), 3);
  keep(0x2000, second.data(), 1);
  ASSERT_EQ(bodies_of(0x1000).size(), 3u);
  EXPECT_EQ(bodies_of(0x1000)[2], graph(0x120));
  ASSERT_EQ(bodies_of(0x2000).size(), 1u);
  EXPECT_EQ(bodies_of(0x2000)[0], graph(0x200));
  EXPECT_TRUE(bodies_of(0x3000).empty());
}

TEST_F(GraphBodies, AHandleThatIsUsedAgainHasTheNewOnes) {
  keep(0x1000, first.data(), 3);
  keep(0x1000, second.data(), 1);
  ASSERT_EQ(bodies_of(0x1000).size(), 1u);
  EXPECT_EQ(bodies_of(0x1000)[0], graph(0x200));
}

TEST_F(GraphBodies, TheLastNodesAreKept) {
  constexpr std::uint64_t kNodes = 20'000, kLeast = 4096;
  for (std::uint64_t i = 1; i <= kNodes; ++i) keep(i * 64, first.data(), 2);
  for (std::uint64_t i = kNodes - kLeast + 1; i <= kNodes; ++i) ASSERT_EQ(bodies_of(i * 64).size(), 2u) << i;
  EXPECT_TRUE(bodies_of(64).empty());
}

TEST_F(GraphBodies, ACallWithoutThemLeavesNone) {
  keep(0x1000, nullptr, 1);
  EXPECT_TRUE(bodies_of(0x1000).empty());
}

TEST_F(GraphBodies, AForkHasNone) {
  keep(0x1000, first.data(), 3);
  in_child::graph_bodies();
  EXPECT_TRUE(bodies_of(0x1000).empty());
}

}  // namespace
}  // namespace streamsan::recorder
