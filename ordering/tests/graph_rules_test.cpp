// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs, inside and around (graph.h). Inside: what two nodes do without a path between them. Around: one launch
// against other streams, the host, and other launches.
#include <algorithm>

#include "ordering/tests/graph_nodes.h"

namespace streamsan::ordering {
namespace {

class Graphs : public testing::GraphTest {
 protected:
  static GraphNode of_event(Kind kind, EventId event, After after = {}) {
    GraphNode made = node(kind, std::move(after));
    made.event = event;
    return made;
  }
  static GraphNode of_memory(Kind kind, Range range, After after = {}) {
    GraphNode made = node(kind, std::move(after));
    made.memory = range;
    return made;
  }
  static GraphNode kernel_node(Address base, AccessMode mode, Dependence dependence = {}, After after = {},
                               bool early = false) {
    GraphNode made = node(Kind::Kernel, std::move(after));
    made.shape = {.function = FunctionId{1}, .threads = 64, .dependence = dependence};
    made.bytes.push_back({.bytes = bytes(base), .mode = mode, .early = early});
    return made;
  }
  OpId launch(StreamId stream, std::uint64_t exec, const Graph& of) {
    return model.graph_launch(call(), stream, exec, of);
  }

  const Range graph_memory{0x7000'0000, 0x7000'1000};
};

// ---- inside ---------------------------------------------------------------------------------------------------------

TEST_F(Graphs, R_GRF_23_NodesWithoutAPathAreConcurrent) {
  const Address a = memory();
  inside({writes(a), reads(a)});
  EXPECT_TRUE(between(1, 2, HazardKind::ReadAfterWrite));
  inside({writes(a), node(Kind::Nothing, {0}), reads(a)});
  EXPECT_EQ(recorder.hazards.at(0).explanation.nearest, NearestEdge::NoPathInGraph);
  EXPECT_TRUE(between(1, 3, HazardKind::ReadAfterWrite));
}

TEST_F(Graphs, R_GRF_20_AnEdgeOrders) {
  const Address a = memory();
  inside({writes(a), reads(a, {0})});
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_20_APathOfEdgesOrders) {
  const Address a = memory();
  // Two forks, joined in the end.
  inside({writes(a), reads(a, {0}), reads(a, {0}), node(Kind::HostFunction, {1, 2}), writes(a, {3})});
  EXPECT_TRUE(silent());
  inside({writes(a), reads(a, {0}), reads(a, {0}), node(Kind::HostFunction, {1}), writes(a, {3})});
  EXPECT_TRUE(between(3, 5, HazardKind::WriteAfterRead));
}

TEST_F(Graphs, R_GRF_24_NodesThatDoNothingKeepTheirEdges) {
  const Address a = memory();
  inside({writes(a), node(Kind::Nothing, {0}), reads(a, {1})});
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_24_NodesThatDoNothingTouchNothing) {
  const Address a = memory();
  GraphNode disabled = writes(a);
  disabled.kind = Kind::Nothing;
  inside({disabled, reads(a)});
  EXPECT_TRUE(silent());
  inside({writes(a), reads(a)});
  EXPECT_FALSE(silent());
}

TEST_F(Graphs, R_GRF_25_AChildGraphIsBetweenItsEnds) {
  const Address a = memory();
  // 1 and 4 are the ends of the child.
  inside({node(Kind::Nothing), writes(a, {0}), writes(a + kAccess, {0}), node(Kind::Nothing, {1, 2}), reads(a, {3})});
  EXPECT_TRUE(silent());
  inside({node(Kind::Nothing), writes(a, {0}), writes(a + kAccess, {0}), node(Kind::Nothing, {1, 2}), reads(a, {0})});
  EXPECT_TRUE(between(2, 5, HazardKind::ReadAfterWrite));
}

TEST_F(Graphs, R_GRF_26_AHostNodeIsInOrderAndTouchesNothing) {
  const Address a = memory();
  inside({writes(a), node(Kind::HostFunction, {0}), reads(a, {1})});
  EXPECT_TRUE(silent());
  inside({writes(a), node(Kind::HostFunction, {0}), reads(a)});
  EXPECT_TRUE(between(1, 3, HazardKind::ReadAfterWrite));
}

TEST_F(Graphs, R_GRF_21_AProgrammaticEdgeLetsTheKernelBeginEarly) {
  const Address a = memory();
  const Dependence depends{.overlaps = true, .waits = true, .front = Trigger::Early, .front_waits_first = true};
  inside({kernel_node(a, AccessMode::Write), kernel_node(a, AccessMode::Read, depends, {0}, true)});
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  inside({kernel_node(a, AccessMode::Write), kernel_node(a, AccessMode::Read, depends, {0}, false)});
  EXPECT_TRUE(silent());
}

// The other branch waits for an event that is recorded between the two kernels: R-LCH-02g.
TEST_F(Graphs, R_GRF_21_AnotherBranchBehindTheFirstKernel) {
  const Address a = memory();
  const Address b = memory();
  const Dependence depends{.overlaps = true, .waits = true, .front = Trigger::Early, .front_waits_first = true};
  inside({kernel_node(a, AccessMode::Write), kernel_node(a, AccessMode::Read, depends, {0}, true), reads(b, {0})});
  EXPECT_TRUE(between(1, 2, HazardKind::ReadAfterWrite));
  inside({kernel_node(a, AccessMode::Write), kernel_node(a, AccessMode::Read, {}, {0}, true), reads(b, {0})});
  EXPECT_TRUE(silent());
  inside({kernel_node(a, AccessMode::Write), kernel_node(b, AccessMode::Read, depends, {0}, true), reads(a, {0})});
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_22_AnEdgeFromTheLaunchOrderPortOrdersNoData) {
  const Address a = memory();
  const Dependence begins{.overlaps = true, .waits = false, .front = Trigger::Early, .front_waits_first = true};
  inside({kernel_node(a, AccessMode::Write), kernel_node(a, AccessMode::Read, begins, {0})});
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  inside({kernel_node(a, AccessMode::Write), kernel_node(a, AccessMode::Read, {}, {0})});
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_45_AUseBesideTheAllocation) {
  inside({of_memory(Kind::Allocate, graph_memory), writes(graph_memory.begin)});
  EXPECT_TRUE(between(1, 2, HazardKind::UseBeforeAllocate));
  inside({of_memory(Kind::Allocate, graph_memory), writes(graph_memory.begin, {0})});
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_47_AUseBesideTheFree) {
  inside({of_memory(Kind::Allocate, graph_memory), writes(graph_memory.begin, {0}),
          of_memory(Kind::Free, graph_memory, {0})});
  EXPECT_TRUE(between(2, 3, HazardKind::FreeWhileInUse));
  inside({of_memory(Kind::Allocate, graph_memory), writes(graph_memory.begin, {0}),
          of_memory(Kind::Free, graph_memory, {1})});
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, BlocksOfAPoolEndWhereTheyEnd) {
  const Address a = memory();
  const auto in_blocks = [&] {
    // Each kernel was given the beginning of its block, in memory that both lie in.
    GraphNode first = node(Kind::Kernel), second = node(Kind::Kernel);
    first.shape = {.function = FunctionId{1}, .threads = 64};
    first.pointers.push_back({a, AccessMode::Write});
    second.shape = {.function = FunctionId{2}, .threads = 64};
    second.pointers.push_back({a + 1024, AccessMode::Write});
    inside({first, second});
  };
  in_blocks();
  EXPECT_FALSE(silent());
  model.block_allocate_without_stream(call(), {a, a + 1024});
  model.block_allocate_without_stream(call(), {a + 1024, a + 2048});
  in_blocks();
  EXPECT_TRUE(silent());
}

// ---- around ---------------------------------------------------------------------------------------------------------

TEST_F(Graphs, R_GRF_36_TheStreamOrdersTheGraphAsAWhole) {
  const Address a = memory();
  const StreamId s = non_blocking();
  write(s, a);
  launch(s, 1, graph({reads(a), writes(a, {0})}));
  read(s, a);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_36_AnotherStreamIsNotOrdered) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  launch(s, 1, graph({writes(a)}));
  read(t, a);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::ReadAfterWrite);
  EXPECT_EQ(hazards[0].earlier.node, 1u);
  EXPECT_NE(hazards[0].earlier.launched, kNoSite);
}

TEST_F(Graphs, R_GRF_35_LaunchesOfOneGraphAreOrdered) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const Graph of = graph({reads(a), writes(a, {0})});
  launch(s, 1, of);
  launch(t, 1, of);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_35_TwoExecutableGraphsAreNot) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const Graph of = graph({writes(a)});
  launch(s, 1, of);
  launch(t, 2, of);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  sync_stream(s);
  sync_stream(t);
  launch(s, 1, of);
  edge(s, t);
  launch(t, 2, of);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_37_ALaunchInTheLegacyStreamIsABarrier) {
  const Address a = memory();
  const StreamId s = blocking();
  write(s, a);
  // A record divides the launch into parts: both belong to the action.
  const EventId event = model.create_event();
  launch(legacy(), 1, graph({reads(a), of_event(Kind::RecordEvent, event, {0}), writes(a, {1})}));
  write(s, a);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_37_ItIsNoneForNonBlockingStreams) {
  const Address a = memory();
  write(non_blocking(), a);
  launch(legacy(), 1, graph({writes(a)}));
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Graphs, R_GRF_30_ARecordStandsForWhatComesBeforeIt) {
  const Address a = memory(), b = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const EventId event = model.create_event();
  const Graph of = graph({writes(a), of_event(Kind::RecordEvent, event, {0}), writes(b, {1})});
  launch(s, 1, of);
  model.wait_event(call(), t, event);
  read(t, a);
  EXPECT_TRUE(silent());
  read(t, b);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Graphs, R_GRF_30_TwoRecordsOneBehindTheOther) {
  const Address a = memory(), b = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const EventId first = model.create_event(), second = model.create_event();
  launch(s, 1,
         graph({writes(a), of_event(Kind::RecordEvent, first, {0}), writes(b, {1}),
                of_event(Kind::RecordEvent, second, {2})}));
  model.wait_event(call(), t, first);
  read(t, b);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  model.wait_event(call(), t, second);
  write(t, b);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_31_WhatComesBehindAWaitIsAfterTheEvent) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const EventId event = model.create_event();
  write(t, a);
  model.record_event(call(), t, event);
  launch(s, 1, graph({of_event(Kind::WaitEvent, event), reads(a, {0})}));
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_31_WhatComesBesideItIsNot) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  const EventId event = model.create_event();
  write(t, a);
  model.record_event(call(), t, event);
  // The node behind the wait must not hide the one beside it.
  launch(s, 1, graph({of_event(Kind::WaitEvent, event), writes(a, {0}), writes(a)}));
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].later.node, 3u);
}

TEST_F(Graphs, R_GRF_31_MemoryIsFreedBehindAWait) {
  const StreamId s = non_blocking(), t = non_blocking();
  const EventId event = model.create_event();
  model.allocate_async(call(), s, graph_memory);
  edge(s, t);
  write(t, graph_memory.begin);
  model.record_event(call(), t, event);
  const auto freed_after = [&](After after) {
    return graph({of_event(Kind::WaitEvent, event), of_memory(Kind::Free, graph_memory, std::move(after))});
  };
  launch(s, 1, freed_after({0}));
  EXPECT_TRUE(silent());
  model.allocate_async(call(), s, graph_memory);
  edge(s, t);
  write(t, graph_memory.begin);
  model.record_event(call(), t, event);
  launch(s, 1, freed_after({}));
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Graphs, R_GRF_40_AnUpdateChangesLaterLaunchesOnly) {
  const Address a = memory(), b = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  launch(s, 1, graph({writes(a)}));
  launch(s, 1, graph({writes(b)}));
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  sync_stream(s);
  launch(s, 1, graph({writes(b)}));
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_GRF_46_MemoryThatAGraphLeavesMayBeUsedBehindIt) {
  const StreamId s = non_blocking(), t = non_blocking();
  launch(s, 1, graph({of_memory(Kind::Allocate, graph_memory)}));
  write(s, graph_memory.begin);
  EXPECT_TRUE(silent());
  write(t, graph_memory.begin + kAccess);
  EXPECT_TRUE(one(HazardKind::UseBeforeAllocate));
}

TEST_F(Graphs, AGraphThatMayWaitForAnythingIsAfterEverything) {
  const Address a = memory();
  const StreamId s = non_blocking(), t = non_blocking();
  write(t, a);
  launch(s, 1, graph({node(Kind::JoinsAll), writes(a, {0})}));
  EXPECT_TRUE(silent());
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Graphs, APinnedSourceIsReadByTheLaunch) {
  const Address a = memory(MemoryKind::Pinned);
  const StreamId s = non_blocking();
  const Graph of = graph({reads(a)});
  launch(s, 1, of);
  model.host_access(call(), {a, a + 1}, AccessMode::Write);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
  launch(s, 1, of);
  sync_stream(s);
  model.host_access(call(), {a, a + 1}, AccessMode::Write);
  EXPECT_TRUE(silent());
}

TEST_F(Graphs, R_UM_11_AtomicsOfSystemScopeInAGraphArePossibleAtMost) {
  const Address a = memory(MemoryKind::Managed);
  const StreamId s = non_blocking();
  GraphNode updates = kernel_node(a, AccessMode::Atomic);
  launch(s, 1, graph({updates}));
  model.host_access(call(), {a, a + 1}, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  sync_stream(s);
  updates.shape.atomic_for_host = true;
  launch(s, 1, graph({updates}));
  model.host_access(call(), {a, a + 1}, AccessMode::Read);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
}

TEST_F(Graphs, APlanHasTheNodesOfEachPart) {
  const EventId event = model.create_event();
  const Address a = memory();
  const Graph of = graph({writes(a), node(Kind::HostFunction), of_event(Kind::RecordEvent, event, {0}), reads(a)});
  const LaunchPlan& plan = of.plan();
  EXPECT_EQ(plan.parts, 2u);
  EXPECT_TRUE(plan.host_code);
  EXPECT_EQ(plan.records, std::vector<EventId>{event});
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].node, 0u);
  EXPECT_EQ(plan.steps[1].node, 2u);
  EXPECT_EQ(plan.steps[2].node, 3u);
  EXPECT_EQ(plan.steps[2].part, 1u);
}

}  // namespace
}  // namespace streamsan::ordering
