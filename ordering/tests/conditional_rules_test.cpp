// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is in the bodies of conditional nodes (graph.h): in order through the node, possible beside it.
#include <vector>

#include "ordering/tests/graph_nodes.h"

namespace streamsan::ordering {
namespace {

class ConditionalNodes : public testing::GraphTest {
 protected:
  static GraphNode kernel_writes(Address base, After after = {}) {
    GraphNode made = node(Kind::Kernel, std::move(after));
    made.shape = {.function = FunctionId{1}, .threads = 64};
    made.bytes.push_back({.bytes = bytes(base), .mode = AccessMode::Write});
    return made;
  }
  static GraphNode in_body(GraphNode node) {
    node.conditional = true;
    return node;
  }
  void launch(StreamId stream, const Graph& of) { model.graph_launch(call(), stream, 1, of); }
};

TEST_F(ConditionalNodes, R_GRF_27_ABodyMayRunBesideAnotherBranch) {
  const Address a = memory();
  inside({node(Kind::Nothing), in_body(writes(a, {0})), node(Kind::Nothing, {1}), reads(a)});
  EXPECT_TRUE(between(2, 4, HazardKind::ReadAfterWrite, Certainty::Possible));
  inside({reads(a), node(Kind::Nothing), in_body(kernel_writes(a, {1})), node(Kind::Nothing, {2})});
  EXPECT_TRUE(between(1, 3, HazardKind::WriteAfterRead, Certainty::Possible));
}

TEST_F(ConditionalNodes, R_GRF_27_TheNodeAsAWholeIsInOrder) {
  const Address a = memory();
  inside({writes(a), node(Kind::Nothing, {0}), in_body(writes(a, {1})), node(Kind::Nothing, {2}), reads(a, {3})});
  EXPECT_TRUE(silent());
  // Of two bodies one runs at a time: the second is laid out behind the first.
  inside({node(Kind::Nothing), in_body(writes(a, {0})), node(Kind::Nothing, {1}), in_body(writes(a, {2})),
          node(Kind::Nothing, {3})});
  EXPECT_TRUE(silent());
}

TEST_F(ConditionalNodes, R_GRF_27_WhatABodyWritesHidesNoCertainWrite) {
  const Address a = memory();
  inside({writes(a), in_body(writes(a, {0})), reads(a)});
  EXPECT_TRUE(between(1, 3, HazardKind::ReadAfterWrite, Certainty::Certain));
  const StreamId s = non_blocking(), t = non_blocking();
  launch(s, graph({writes(a), in_body(writes(a, {0}))}));
  read(t, a);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Certain);
  EXPECT_EQ(hazards[0].earlier.node, 1u);
}

TEST_F(ConditionalNodes, R_GRF_27_APointerGivenToABodyHidesNone) {
  const Address a = memory();
  const auto given = [&](std::uint32_t function) {
    GraphNode made = node(Kind::Kernel);
    made.shape = {.function = FunctionId{function}, .threads = 64};
    made.pointers.push_back({a, AccessMode::Write});
    return made;
  };
  GraphNode again = in_body(given(1));
  again.after = {0};
  inside({given(1), again, given(2)});
  EXPECT_TRUE(between(1, 3, HazardKind::WriteAfterWrite, Certainty::Certain));
  inside({in_body(given(1)), given(2)});
  EXPECT_TRUE(between(1, 2, HazardKind::WriteAfterWrite, Certainty::Possible));
}

TEST_F(ConditionalNodes, R_GRF_27_ALaunchMayRunTheBody) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const Graph of = graph({in_body(writes(a))});
  launch(s, of);
  read(t, a);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
  EXPECT_TRUE(hazards[0].earlier.conditional);
  edge(t, s);
  launch(s, of);
  sync_stream(s);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(ConditionalNodes, R_GRF_27_MemoryMayBeFreedUnderABody) {
  const Address a = memory(), b = memory();
  const StreamId s = non_blocking();
  launch(s, graph({in_body(writes(a))}));
  model.free_async(call(), non_blocking(), a);
  std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::FreeWhileInUse);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
  launch(s, graph({in_body(writes(a))}));
  hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::UseAfterFree);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
  launch(s, graph({in_body(writes(b))}));
  sync_stream(s);
  model.free_async(call(), non_blocking(), b);
  EXPECT_TRUE(silent());
}

}  // namespace
}  // namespace streamsan::ordering
