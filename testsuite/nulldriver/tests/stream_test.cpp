// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events and contexts as handles; host functions.

#include <atomic>
#include <thread>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

using Streams = NullDriver;

TEST_F(Streams, DestroyedHandleIsInvalidAndTheNextHandedOut) {
  CUstream first = nullptr;
  CUstream again = nullptr;
  unsigned long long first_id = 0;
  unsigned long long again_id = 0;
  ASSERT_CU(cuStreamCreate(&first, CU_STREAM_DEFAULT));
  ASSERT_CU(cuStreamGetId(first, &first_id));
  ASSERT_CU(cuStreamDestroy(first));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(first));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(first));
  ASSERT_CU(cuStreamCreate(&again, CU_STREAM_NON_BLOCKING));
  ASSERT_CU(cuStreamGetId(again, &again_id));
  EXPECT_EQ(first, again);
  EXPECT_NE(first_id, again_id);
  unsigned flags = 0;
  EXPECT_CU(cuStreamGetFlags(again, &flags));
  EXPECT_EQ(static_cast<unsigned>(CU_STREAM_NON_BLOCKING), flags);
}

TEST_F(Streams, EventHandlesAreRecycledToo) {
  CUevent first = nullptr;
  CUevent again = nullptr;
  ASSERT_CU(cuEventCreate(&first, 0));
  ASSERT_CU(cuEventDestroy(first));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(first, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(nullptr, first, 0));
  ASSERT_CU(cuEventCreate(&again, 0));
  EXPECT_EQ(first, again);
}

TEST_F(Streams, DefaultStreamsAreThreeDifferentStreams) {
  unsigned long long zero = 0;
  unsigned long long legacy = 0;
  unsigned long long mine = 0;
  unsigned long long theirs = 0;
  EXPECT_CU(cuStreamGetId(nullptr, &zero));
  EXPECT_CU(cuStreamGetId(CU_STREAM_LEGACY, &legacy));
  EXPECT_CU(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
  std::thread([&] {
    EXPECT_CU(cuCtxSetCurrent(context));
    EXPECT_CU(cuStreamGetId(CU_STREAM_PER_THREAD, &theirs));
  }).join();
  EXPECT_EQ(zero, legacy);
  EXPECT_NE(legacy, mine);
  EXPECT_NE(mine, theirs);
}

TEST_F(Streams, ElapsedTimeNeedsTwoTimedRecords) {
  CUevent start = nullptr;
  CUevent end = nullptr;
  CUevent untimed = nullptr;
  float milliseconds = -1;
  ASSERT_CU(cuEventCreate(&start, 0));
  ASSERT_CU(cuEventCreate(&end, 0));
  ASSERT_CU(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  EXPECT_CU(cuEventQuery(start));
  ASSERT_CU(cuEventRecord(start, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, end));
  ASSERT_CU(cuEventRecord(end, nullptr));
  ASSERT_CU(cuEventRecord(untimed, nullptr));
  EXPECT_CU(cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, untimed));
}

TEST_F(Streams, HostFunctionsAndCallbacksRun) {
  int calls = 0;
  const auto add = [](void* data) { ++*static_cast<int*>(data); };
  const auto add_ten = [](CUstream, CUresult status, void* data) {
    if (status == CUDA_SUCCESS) *static_cast<int*>(data) += 10;
  };
  ASSERT_CU(cuLaunchHostFunc(nullptr, add, &calls));
  ASSERT_CU(cuStreamAddCallback(nullptr, add_ten, &calls, 0));
  EXPECT_EQ(11, calls);
}

/// The driver holds no lock while it runs a host function: another thread can use it meanwhile.
TEST_F(Streams, AnotherThreadCanCallDuringAHostFunction) {
  CUcontext current = context;
  const auto use_driver = [](void* data) {
    std::thread([data] {
      CUdeviceptr pointer = 0;
      EXPECT_CU(cuCtxSetCurrent(*static_cast<CUcontext*>(data)));
      EXPECT_CU(cuMemAlloc(&pointer, 64));
    }).join();
  };
  EXPECT_CU(cuLaunchHostFunc(nullptr, use_driver, &current));
}

TEST_F(Streams, WordsInMemory) {
  CUdeviceptr word = 0;
  ASSERT_CU(cuMemAlloc(&word, 8));
  ASSERT_CU(cuStreamWriteValue32(nullptr, word, 5, 0));
  EXPECT_CU(cuStreamWaitValue32(nullptr, word, 4, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_EQ(CUDA_ERROR_LAUNCH_TIMEOUT, cuStreamWaitValue32(nullptr, word, 6, CU_STREAM_WAIT_VALUE_EQ));
  ASSERT_CU(cuStreamWriteValue64(nullptr, word, 1ull << 40, 0));
  EXPECT_CU(cuStreamWaitValue64(nullptr, word, 1ull << 40, CU_STREAM_WAIT_VALUE_AND));
}

TEST_F(Streams, NothingWorksWithoutAContext) {
  std::thread([] {
    CUstream stream = nullptr;
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate(&stream, 0));
    EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&pointer, 8));
    EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
  }).join();
}

TEST_F(Streams, ThereIsOneDeviceUnlessMoreAreAskedFor) {
  int count = 0;
  int can = -1;
  CUdevice device = -1;
  CUcontext second = nullptr;
  EXPECT_CU(cuDeviceGetCount(&count));
  EXPECT_EQ(1, count);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&second, 1));
  EXPECT_CU(cuDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(0, can);
}

TEST_F(Streams, ContextTakesItsStreamsAlong) {
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr pointer = 0;
  ASSERT_CU(cuCtxCreate(&other, nullptr, 0, 0));
  ASSERT_CU(cuStreamCreate(&stream, 0));
  ASSERT_CU(cuMemAlloc(&pointer, 64));
  ASSERT_CU(cuCtxDestroy(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(pointer));
  CUcontext current = nullptr;
  EXPECT_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(context, current);
}

TEST_F(Streams, ManyThreadsAtOnce) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      cuCtxSetCurrent(context);
      for (int round = 0; round < 500; ++round) {
        CUstream stream = nullptr;
        CUdeviceptr pointer = 0;
        if (cuStreamCreate(&stream, 0) != CUDA_SUCCESS || cuMemAlloc(&pointer, 512) != CUDA_SUCCESS ||
            cuMemsetD8Async(pointer, 1, 512, stream) != CUDA_SUCCESS || cuStreamSynchronize(stream) != CUDA_SUCCESS ||
            cuMemFree(pointer) != CUDA_SUCCESS || cuStreamDestroy(stream) != CUDA_SUCCESS) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, failures);
}

}  // namespace
