// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditional nodes: which body a launch runs, how bodies are filled, and what is refused.

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class Conditional : public NullDriver {
 protected:
  void SetUp() override {
    NullDriver::SetUp();
    ASSERT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cuMemAlloc(&word, 4));
    ASSERT_CU(cuMemsetD32(word, 1, 1));
    ASSERT_CU(cuGraphCreate(&graph, 0));
  }
  unsigned value() const {
    unsigned result = 0;
    EXPECT_CU(cuMemcpyDtoH(&result, word, 4));
    return result;
  }
  CUresult add(CUgraphConditionalNodeType type, unsigned size, unsigned condition, CUgraph to = nullptr) {
    CUgraphNodeParams given{};
    given.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    given.conditional.type = type;
    given.conditional.size = size;
    EXPECT_CU(cuGraphConditionalHandleCreate(&given.conditional.handle, graph, context, condition,
                                             CU_GRAPH_COND_ASSIGN_DEFAULT));
    const CUresult result = cuGraphAddNode(&node, to == nullptr ? graph : to, nullptr, nullptr, 0, &given);
    bodies = given.conditional.phGraph_out;
    return result;
  }
  void fill(CUgraph body, unsigned number) {
    const CUDA_MEMSET_NODE_PARAMS given{
        .dst = word, .pitch = 0, .value = number, .elementSize = 4, .width = 1, .height = 1};
    CUgraphNode made = nullptr;
    EXPECT_CU(cuGraphAddMemsetNode(&made, body, nullptr, 0, &given, context));
  }
  /// What the word is after a launch.
  unsigned launched() {
    CUgraphExec exec = nullptr;
    EXPECT_CU(cuGraphInstantiate(&exec, graph, 0));
    EXPECT_CU(cuGraphLaunch(exec, stream));
    EXPECT_CU(cuGraphExecDestroy(exec));
    return value();
  }
  CUstream stream = nullptr;
  CUdeviceptr word = 0;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraph* bodies = nullptr;
};

TEST_F(Conditional, IfRunsOneOfItsBodies) {
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_IF, 2, 1));
  fill(bodies[0], 2);
  fill(bodies[1], 3);
  EXPECT_EQ(launched(), 2u);
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_IF, 2, 0));
  fill(bodies[1], 4);
  EXPECT_EQ(launched(), 4u);
}

TEST_F(Conditional, SwitchRunsTheBodyOfThatNumberOrNone) {
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_SWITCH, 3, 2));
  fill(bodies[2], 5);
  EXPECT_EQ(launched(), 5u);
  ASSERT_CU(cuMemsetD32(word, 1, 1));
  ASSERT_CU(cuGraphDestroy(graph));
  ASSERT_CU(cuGraphCreate(&graph, 0));
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_SWITCH, 3, 3));
  for (unsigned i = 0; i < 3; ++i) fill(bodies[i], 7);
  EXPECT_EQ(launched(), 1u);
}

TEST_F(Conditional, BodiesMayBeCapturedAndNested) {
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_WHILE, 1, 1));
  CUgraph body = bodies[0];
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_IF, 1, 1, body));
  ASSERT_CU(cuStreamBeginCaptureToGraph(stream, bodies[0], nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CU(cuMemsetD32Async(word, 6, 1, stream));
  CUgraph ended = nullptr;
  ASSERT_CU(cuStreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, bodies[0]);
  EXPECT_EQ(value(), 1u);
  EXPECT_EQ(launched(), 6u);
  CUgraphNodeType type{};
  EXPECT_CU(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
}

TEST_F(Conditional, AnExecutableGraphKeepsItsBodies) {
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_IF, 1, 1));
  CUgraphExec exec = nullptr;
  ASSERT_CU(cuGraphInstantiate(&exec, graph, 0));
  CUgraphExecUpdateResultInfo info{};
  EXPECT_CU(cuGraphExecUpdate(exec, graph, &info));
  fill(bodies[0], 2);
  ASSERT_CU(cuGraphLaunch(exec, stream));
  EXPECT_EQ(value(), 1u);
  EXPECT_EQ(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

TEST_F(Conditional, CopiesOfTheGraphAreRefused) {
  ASSERT_CU(add(CU_GRAPH_COND_TYPE_IF, 1, 1));
  CUgraph other = nullptr;
  EXPECT_EQ(cuGraphClone(&other, graph), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_CU(cuGraphCreate(&other, 0));
  CUgraphNode child = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, other, nullptr, 0, graph), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CU(cuGraphDestroy(graph));
  EXPECT_CU(cuGraphCreate(&graph, 0));
  EXPECT_CU(cuGraphAddChildGraphNode(&child, other, nullptr, 0, graph));
}

TEST_F(Conditional, WrongSizesAndHandlesAreRefused) {
  EXPECT_EQ(add(CU_GRAPH_COND_TYPE_IF, 3, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(CU_GRAPH_COND_TYPE_WHILE, 2, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(CU_GRAPH_COND_TYPE_SWITCH, 0, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraphConditionalHandle handle = 0;
  EXPECT_EQ(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 2), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams given{};
  given.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  given.conditional.type = CU_GRAPH_COND_TYPE_IF;
  given.conditional.size = 1;
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &given), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
