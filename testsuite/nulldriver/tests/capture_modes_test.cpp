// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a capture refuses by its mode and by that of the thread. Which calls those are, a program of the GPU suite asks
// (capture_modes.cu); here is what it leaves out: other threads, and the way back from an invalidated capture.

#include <thread>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class CaptureModes : public NullDriver {
 protected:
  void SetUp() override {
    NullDriver::SetUp();
    ASSERT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cuEventCreate(&event, 0));
  }
  void begin(CUstreamCaptureMode mode) { ASSERT_CU(cuStreamBeginCapture(stream, mode)); }
  CUresult end() {
    CUgraph graph = nullptr;
    const CUresult result = cuStreamEndCapture(stream, &graph);
    if (result == CUDA_SUCCESS) {
      EXPECT_CU(cuGraphDestroy(graph));
    }
    return result;
  }
  CUresult allocate() const {
    CUdeviceptr memory = 0;
    return cuMemAlloc(&memory, 64);
  }
  /// By another thread, in this mode of its own.
  CUresult allocate_elsewhere(CUstreamCaptureMode mode) const {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      EXPECT_CU(cuCtxSetCurrent(context));
      EXPECT_CU(cuThreadExchangeStreamCaptureMode(&mode));
      result = allocate();
    }).join();
    return result;
  }
  CUstream stream = nullptr;
  CUstream other = nullptr;
  CUevent event = nullptr;
};

TEST_F(CaptureModes, UnsafeCallsAreRefusedUnlessItIsRelaxed) {
  for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    begin(mode);
    EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(other));
    EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
    EXPECT_CU(cuStreamSynchronize(other));
    EXPECT_CU(allocate());
  }
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CU(cuStreamSynchronize(other));
  EXPECT_CU(cuEventQuery(event));
  EXPECT_CU(allocate());
  EXPECT_CU(end());
}

TEST_F(CaptureModes, ARelaxedThreadIsNotHindered) {
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_CU(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CU_STREAM_CAPTURE_MODE_GLOBAL, mode);
  EXPECT_CU(allocate());
  EXPECT_CU(cuEventSynchronize(event));
  EXPECT_CU(end());
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  ASSERT_CU(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CU_STREAM_CAPTURE_MODE_RELAXED, mode);
  mode = static_cast<CUstreamCaptureMode>(3);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(&mode));
}

TEST_F(CaptureModes, OnlyAGlobalOneConcernsOtherThreads) {
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_CU(allocate_elsewhere(CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CU(allocate_elsewhere(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_CU(end());
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, allocate_elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end());
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_CU(allocate_elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CU(end());
}

TEST_F(CaptureModes, TheEndOfTheFirstStreamIsTheEndOfTheCapture) {
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_CU(cuStreamDestroy(stream));
  EXPECT_CU(allocate());
  EXPECT_CU(cuCtxSynchronize());
}

TEST_F(CaptureModes, AskingWhetherTheLegacyStreamIsCapturedInvalidatesNothing) {
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  ASSERT_CU(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(CU_STREAM_LEGACY, &status));
  EXPECT_CU(cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
}

TEST_F(CaptureModes, ThePerThreadStreamIsABlockingOne) {
  CUgraph graph = nullptr;
  ASSERT_CU(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuEventRecord(event, CU_STREAM_LEGACY));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
}

}  // namespace
