// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs with conditional nodes (graphs.h), and those that kernels may launch.
#include <gtest/gtest.h>

#include "judge/tests/two_streams.h"
#include "ordering/api/row.h"

namespace streamsan::judge::two_stream_tests {
namespace {

using trace::Kind;
using trace::NodeKind;

constexpr std::uint64_t kImage = 1, kExec = 0x88, kGraph = 0x77;
/// Handles of nodes.
constexpr std::uint64_t kCondition = 0x100, kFill = 0x110, kFill2 = 0x120, kBody = 0x201, kBody2 = 0x301;

void node(TraceBuilder& trace, std::uint64_t handle, std::uint64_t parent, NodeKind what) {
  trace.add(Kind::GraphNode, "", {kImage, handle, parent, static_cast<std::uint64_t>(what)});
}
void fill_node(TraceBuilder& trace, std::uint64_t handle, std::uint64_t parent, std::uint64_t dst) {
  const std::uint64_t inner[] = {
      1 | std::uint64_t{static_cast<std::uint8_t>(Kind::Fill)} << 32, trace::kAsyncForm, 0, 0, dst, kBytes, 0, 1};
  trace.add(Kind::GraphNode, "", {kImage, handle, parent, static_cast<std::uint64_t>(NodeKind::Fill)}, inner);
}
void edge(TraceBuilder& trace, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t pair[] = {from, to};
  trace.add(Kind::GraphEdges, "", {kImage, 1}, pair);
}
void launch(TraceBuilder& trace, std::uint64_t flags = 0) {
  trace.at({0x401400}).add(Kind::GraphInstantiate, "cuGraphInstantiateWithFlags", {kExec, kGraph, kImage, flags});
  trace.at({0x401500}).graph_launch(kA, kExec);
}

TEST(Conditional, ABodyThatMeetsAnotherStreamIsPossible) {
  for (const bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    node(trace, kCondition, 0, NodeKind::Conditional);
    node(trace, kBody, kCondition, NodeKind::Body);
    fill_node(trace, kFill, kBody, kBuffer);
    launch(trace);
    if (fixed) trace.event_record(kA, kEvent), trace.event_wait(kB, kEvent);
    consume(trace);
    const std::vector<Finding> findings = judge(trace);
    ASSERT_EQ(findings.size(), fixed ? 0u : 1u);
    if (fixed) continue;
    EXPECT_EQ(findings[0].severity, Severity::Possible);
    EXPECT_NE(findings[0].explanation.find("in the body of a conditional node"), std::string::npos);
    // The body itself has no number.
    EXPECT_NE(findings[0].accesses.at(1).what.find("(graph node 2, conditional)"), std::string::npos);
  }
}

TEST(Conditional, WhatIsBehindTheNodeIsBehindItsBodies) {
  for (const bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    node(trace, kCondition, 0, NodeKind::Conditional);
    node(trace, kBody, kCondition, NodeKind::Body);
    fill_node(trace, kFill, kBody, kBuffer);
    node(trace, kBody2, kCondition, NodeKind::Body);
    fill_node(trace, kFill2, kBody2, kBuffer);
    fill_node(trace, 0x130, 0, kBuffer);
    if (fixed) edge(trace, kCondition, 0x130);
    launch(trace);
    const std::vector<Finding> findings = judge(trace);
    EXPECT_EQ(findings.empty(), fixed);
    for (const Finding& each : findings) EXPECT_EQ(each.severity, Severity::Possible);
  }
}

TEST(Conditional, NodesInABodyAreUnorderedWithoutAnEdge) {
  for (const bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    node(trace, kCondition, 0, NodeKind::Conditional);
    node(trace, kBody, kCondition, NodeKind::Body);
    fill_node(trace, kFill, kBody, kBuffer);
    fill_node(trace, kFill2, kBody, kBuffer);
    if (fixed) edge(trace, kFill, kFill2);
    launch(trace);
    EXPECT_EQ(judge(trace).size(), fixed ? 0u : 1u);
  }
}

TEST(Conditional, ABodyInABodyIsConditionalToo) {
  TraceBuilder trace = two_streams();
  node(trace, kCondition, 0, NodeKind::Conditional);
  node(trace, kBody, kCondition, NodeKind::Body);
  node(trace, 0x140, kBody, NodeKind::Child);
  fill_node(trace, kFill, 0x140, kBuffer);
  launch(trace);
  consume(trace);
  const std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::Possible);
}

TEST(Conditional, TheSameNodesInAChildGraphAreCertain) {
  TraceBuilder trace = two_streams();
  node(trace, kCondition, 0, NodeKind::Child);
  fill_node(trace, kFill, kCondition, kBuffer);
  launch(trace);
  consume(trace);
  const std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::Error);
}

TEST(Conditional, MemoryNodesOfABodyAreLeftOut) {
  for (const NodeKind around : {NodeKind::Body, NodeKind::Child}) {
    TraceBuilder trace = two_streams();
    trace.alloc(kOther, kBytes);
    node(trace, kCondition, 0, NodeKind::Conditional);
    node(trace, kBody, kCondition, around);
    trace.add(Kind::GraphNode, "", {kImage, kFill, kBody, static_cast<std::uint64_t>(NodeKind::Free), kOther, kBytes});
    launch(trace);
    trace.at({0x401600}).launch(kA, kConsume, {pointer_word(0, kOther)}, kBytes);
    EXPECT_EQ(judge(trace).empty(), around == NodeKind::Body);
  }
}

TEST(Conditional, GraphsThatKernelsMayLaunchAreCounted) {
  for (const std::uint64_t flags : {0, 2, 4, 12}) {
    TraceBuilder trace = two_streams();
    node(trace, kFill, 0, NodeKind::Empty);
    launch(trace, flags);
    EXPECT_EQ(judged(trace).graphs_of_kernels, flags >= 4 ? 1u : 0u) << flags;
  }
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
