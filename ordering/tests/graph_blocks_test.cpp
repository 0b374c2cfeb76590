// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-ANN-04: graphs that use a block after it went back to its pool.
#include "ordering/tests/graph_nodes.h"

namespace streamsan::ordering::testing {
namespace {

class GraphBlocks : public GraphTest {
 protected:
  static constexpr Bytes kBlock = 512;
  static constexpr std::uint64_t kExec = 1;
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  const Address pool = memory();

  AllocationId take(Address base, Bytes size = kBlock) { return model.block_allocate(call(), s, {base, base + size}); }
  void give(Address base) { model.block_free(call(), s, base); }
  void launch(const Graph& of, std::uint64_t exec = kExec) { model.graph_launch(call(), s, exec, of); }
  static Graph kernel(Address base, LaunchShape shape, bool widened = false, bool conditional = false) {
    GraphNode made = node(Kind::Kernel);
    made.shape = shape;
    made.shape.function = FunctionId{1};
    made.bytes.push_back({.bytes = bytes(base), .mode = AccessMode::Write, .widened = widened});
    made.conditional = conditional;
    return graph({made});
  }
};

TEST_F(GraphBlocks, R_ANN_04_TheBlockWentBackBeforeTheLastLaunch) {
  const AllocationId life = take(pool);
  const std::uint32_t taken = site;
  const Graph uses = graph({node(Kind::Nothing), writes(pool + 64, {0})});
  model.graph_made(kExec);
  launch(uses);
  EXPECT_TRUE(silent());
  give(pool);
  const std::uint32_t given = site;
  launch(uses);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::UseAfterFree);
  EXPECT_EQ(hazards[0].certainty, Certainty::Certain);
  EXPECT_EQ(hazards[0].allocation.id, life);
  EXPECT_EQ(hazards[0].allocation.site, SiteId{taken});
  EXPECT_EQ(hazards[0].earlier.site, SiteId{given});
  EXPECT_EQ(hazards[0].later.node, 2u);
}

TEST_F(GraphBlocks, R_ANN_04_ItGoesBackAfterTheLastLaunch) {
  take(pool);
  const Graph uses = graph({reads(pool)});
  model.graph_made(kExec);
  launch(uses);
  give(pool);
  EXPECT_TRUE(silent());
}

TEST_F(GraphBlocks, R_ANN_04_SomebodyElseHasTheBytesByThen) {
  take(pool);
  const Graph uses = graph({writes(pool)});
  model.graph_made(kExec);
  give(pool);
  take(pool);
  launch(uses);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

TEST_F(GraphBlocks, R_ANN_04_TheGraphIsOlderThanTheBlock) {
  const Graph uses = graph({writes(pool)});  // the pool itself, or memory of the graph
  model.graph_made(kExec);
  take(pool);
  give(pool);
  launch(uses);
  EXPECT_TRUE(silent());
}

TEST_F(GraphBlocks, R_ANN_04_TheGraphIsYoungerThanTheRelease) {
  take(pool);
  model.graph_made(kExec + 1);
  give(pool);
  const Graph uses = graph({writes(pool)});
  model.graph_made(kExec);
  launch(uses);
  EXPECT_TRUE(silent());
}

TEST_F(GraphBlocks, R_ANN_04_TheGraphWasMadeAgain) {
  take(pool);
  model.graph_made(kExec);
  give(pool);
  take(pool);
  const Graph uses = graph({writes(pool)});
  model.graph_made(kExec);
  launch(uses);
  EXPECT_TRUE(silent());
}

TEST_F(GraphBlocks, R_ANN_04_ItWasTheGraphsByThen) {
  take(pool);
  model.forget_blocks({pool, pool + kBlock});  // handed out again, during the capture
  const Graph uses = graph({writes(pool)});
  model.graph_made(kExec);
  give(pool);
  launch(uses);
  EXPECT_TRUE(silent());
}

TEST_F(GraphBlocks, R_ANN_04_OtherWorkInTheBlock) {
  take(pool);
  model.graph_made(kExec);
  give(pool);
  write(s, pool);
  launch(graph({writes(pool + kBlock)}));
  EXPECT_TRUE(silent());
}

TEST_F(GraphBlocks, R_ANN_04_WhatIsKnownOfTheBytes) {
  struct Row {
    LaunchShape shape;
    bool widened = false;
    bool conditional = false;
    Certainty expected = Certainty::Certain;
  };
  const Row rows[] = {{.shape = {}},
                      {.shape = {.learned = true}},
                      {.shape = {}, .widened = true, .expected = Certainty::Possible},
                      {.shape = {}, .conditional = true, .expected = Certainty::Possible}};
  for (const Row& row : rows) {
    take(pool);
    model.graph_made(kExec);
    give(pool);
    launch(kernel(pool, row.shape, row.widened, row.conditional));
    const std::vector<Hazard> hazards = found();
    ASSERT_EQ(hazards.size(), 1u);
    EXPECT_EQ(hazards[0].certainty, row.expected);
  }
}

TEST_F(GraphBlocks, R_ANN_04_OnceForEachLaunch) {
  take(pool);
  const Graph uses = graph({writes(pool), reads(pool, {0})});
  model.graph_made(kExec);
  give(pool);
  launch(uses);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
  launch(uses);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

}  // namespace
}  // namespace streamsan::ordering::testing
