// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream capture: what is captured runs at the launch and not before, and the driver's rules about captures.

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class StreamCapture : public NullDriver {
 protected:
  void SetUp() override {
    NullDriver::SetUp();
    ASSERT_CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    ASSERT_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cuEventCreate(&event, 0));
    ASSERT_CU(cuMemAlloc(&word, 4));
    ASSERT_CU(cuMemsetD32(word, 1, 1));
  }
  unsigned value() const {
    unsigned result = 0;
    EXPECT_CU(cuMemcpyDtoH(&result, word, 4));
    return result;
  }
  CUstream stream = nullptr;
  CUstream other = nullptr;
  CUevent event = nullptr;
  CUdeviceptr word = 0;
  CUgraph graph = nullptr;
};

TEST_F(StreamCapture, RunsAtEveryLaunch) {
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_CU(cuMemsetD32Async(word, 2, 1, stream));
  CUstreamCaptureStatus status{};
  size_t dependencies = 0;
  ASSERT_CU(cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, &dependencies));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  EXPECT_EQ(1u, dependencies);
  ASSERT_CU(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(1u, value());
  CUgraphExec exec = nullptr;
  ASSERT_CU(cuGraphInstantiate(&exec, graph, 0));
  ASSERT_CU(cuGraphLaunch(exec, stream));
  EXPECT_EQ(2u, value());
  ASSERT_CU(cuMemsetD32(word, 3, 1));
  ASSERT_CU(cuGraphLaunch(exec, other));
  EXPECT_EQ(2u, value());
  size_t nodes = 0;
  EXPECT_CU(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(1u, nodes);
  EXPECT_CU(cuGraphExecDestroy(exec));
  EXPECT_CU(cuGraphDestroy(graph));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));
}

TEST_F(StreamCapture, EventTakesAnotherStreamIn) {
  CUstreamCaptureStatus status{};
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_CU(cuEventRecord(event, stream));
  ASSERT_CU(cuStreamWaitEvent(other, event, 0));
  ASSERT_CU(cuMemsetD32Async(word, 2, 1, other));
  ASSERT_CU(cuStreamIsCapturing(other, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(other, &graph));
  ASSERT_CU(cuEventRecord(event, other));
  ASSERT_CU(cuStreamWaitEvent(stream, event, 0));
  ASSERT_CU(cuStreamEndCapture(stream, &graph));
  ASSERT_CU(cuStreamIsCapturing(other, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, status);
}

TEST_F(StreamCapture, WorkThatNeverCameBackIsUnjoined) {
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_CU(cuEventRecord(event, stream));
  ASSERT_CU(cuStreamWaitEvent(other, event, 0));
  ASSERT_CU(cuMemsetD32Async(word, 2, 1, other));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(nullptr, graph);
}

TEST_F(StreamCapture, WaitingInvalidatesIt) {
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(word, 2, 1, stream));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_CU(cuStreamSynchronize(stream));
}

TEST_F(StreamCapture, TakesNoLaunchOfAGraph) {
  ASSERT_CU(cuGraphCreate(&graph, 0));
  CUgraphExec exec = nullptr;
  ASSERT_CU(cuGraphInstantiate(&exec, graph, 0));
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch(exec, stream));
  CUgraph captured = nullptr;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &captured));
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphUpload(exec, stream));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &captured));
  EXPECT_CU(cuGraphUpload(exec, stream));
  EXPECT_CU(cuGraphLaunch(exec, stream));
  EXPECT_CU(cuGraphExecDestroy(exec));
  EXPECT_CU(cuGraphDestroy(graph));
}

TEST_F(StreamCapture, LegacyStreamCannotFollowABlockingStream) {
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(word, 2, 1, nullptr));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

TEST_F(StreamCapture, LegacyStreamDoesNotMindANonBlockingStream) {
  ASSERT_CU(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CU(cuMemsetD32Async(word, 2, 1, nullptr));
  EXPECT_CU(cuStreamEndCapture(other, &graph));
  EXPECT_EQ(2u, value());
}

TEST_F(StreamCapture, LegacyStreamCannotBeCaptured) {
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
}

}  // namespace
