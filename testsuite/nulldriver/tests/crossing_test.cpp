// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may cross from one device to another (copies, waits for events, kernels of libraries, peer access that was
// granted) and what may not (kernels of modules, records of events).

#include <thread>
#include <vector>

#include "testsuite/nulldriver/tests/devices_fixture.h"

namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 table[64];
.visible .entry empty()
{
	ret;
}
)";

CUresult launch(CUfunction f, CUstream stream) {
  return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

TEST_F(Devices, SynchronizeIsForOneContext) {
  CUstream stream = stream_of_other();
  CUgraph graph = nullptr;
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CU(cuCtxSynchronize());
  ASSERT_CU(cuStreamEndCapture(stream, &graph));
  ASSERT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CU(cuCtxSetCurrent(other));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
}

TEST_F(Devices, AModuleRunsInItsContextOnly) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream mine = nullptr;
  ASSERT_CU(cuModuleLoadData(&module, kPtx));
  ASSERT_CU(cuModuleGetFunction(&function, module, "empty"));
  ASSERT_CU(cuStreamCreate(&mine, 0));
  CUstream theirs = stream_of_other();
  EXPECT_CU(launch(function, mine));
  EXPECT_CU(launch(function, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(function, theirs));
  ASSERT_CU(cuCtxSetCurrent(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(function, nullptr));
  EXPECT_CU(launch(function, mine));
  CUdeviceptr table = 0;
  int device = -1;
  ASSERT_CU(cuModuleGetGlobal(&table, nullptr, module, "table"));
  EXPECT_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, table));
  EXPECT_EQ(0, device);
}

TEST_F(Devices, ALibraryIsEverywhere) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_CU(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_CU(cuLibraryGetKernel(&kernel, library, "empty"));
  CUstream theirs = stream_of_other();
  EXPECT_CU(launch(reinterpret_cast<CUfunction>(kernel), nullptr));
  EXPECT_CU(launch(reinterpret_cast<CUfunction>(kernel), theirs));
  CUfunction here = nullptr;
  CUfunction there = nullptr;
  CUdeviceptr table[2] = {};
  ASSERT_CU(cuKernelGetFunction(&here, kernel));
  ASSERT_CU(cuLibraryGetGlobal(&table[0], nullptr, library, "table"));
  ASSERT_CU(cuCtxSetCurrent(other));
  ASSERT_CU(cuKernelGetFunction(&there, kernel));
  ASSERT_CU(cuLibraryGetGlobal(&table[1], nullptr, library, "table"));
  EXPECT_NE(here, there);
  EXPECT_NE(table[0], table[1]);
  EXPECT_CU(launch(there, theirs));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, launch(here, theirs));
  int value = 0;
  EXPECT_CU(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 2));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 3));
  EXPECT_CU(cuLibraryUnload(library));
}

TEST_F(Devices, EventsAreRecordedAtHomeAndWaitedForAnywhere) {
  CUevent mine = nullptr;
  CUevent theirs = nullptr;
  ASSERT_CU(cuEventCreate(&mine, 0));
  CUstream stream = stream_of_other();
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(mine, stream));
  ASSERT_CU(cuEventRecord(mine, nullptr));
  EXPECT_CU(cuStreamWaitEvent(stream, mine, 0));
  ASSERT_CU(cuCtxSetCurrent(other));
  ASSERT_CU(cuEventCreate(&theirs, 0));
  EXPECT_CU(cuEventRecord(theirs, stream));
  float milliseconds = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, mine, theirs));
  EXPECT_CU(cuEventElapsedTime(&milliseconds, theirs, theirs));
}

TEST_F(Devices, CopiesCross) {
  const std::vector<char> in(256, 5);
  std::vector<char> out(256);
  const CUdeviceptr far = memory_of_other(256);
  CUdeviceptr near = 0;
  CUdeviceptr back = 0;
  CUstream stream = stream_of_other();
  ASSERT_CU(cuMemAlloc(&near, 256));
  ASSERT_CU(cuMemAlloc(&back, 256));
  // A copy may be put in a stream of another device; so may one between the devices.
  ASSERT_CU(cuMemcpyHtoDAsync(near, in.data(), 256, stream));
  ASSERT_CU(cuMemcpyPeerAsync(far, other, near, context, 256, stream));
  ASSERT_CU(cuMemcpyPeer(back, context, far, other, 128));
  CUDA_MEMCPY3D_PEER shape{};
  shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.srcDevice = far;
  shape.srcContext = other;
  shape.srcXInBytes = 128;
  shape.dstDevice = back;
  shape.dstContext = context;
  shape.dstXInBytes = 128;
  shape.WidthInBytes = 64;
  shape.Height = shape.Depth = 1;
  ASSERT_CU(cuMemcpy3DPeer(&shape));
  shape.srcXInBytes = shape.dstXInBytes = 192;
  ASSERT_CU(cuMemcpy3DPeerAsync(&shape, stream));
  ASSERT_CU(cuMemcpyDtoH(out.data(), back, 256));
  EXPECT_EQ(in, out);

  CUcontext dead = nullptr;
  ASSERT_CU(cuCtxCreate(&dead, nullptr, 0, 2));
  ASSERT_CU(cuCtxDestroy(dead));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(back, context, far, dead, 16));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeerAsync(back, dead, far, other, 16, stream));
  shape.dstContext = dead;
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemcpy3DPeer(&shape));
}

TEST_F(Devices, PeerAccessIsGrantedOnce) {
  int can = -1;
  EXPECT_CU(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(1, can);
  EXPECT_CU(cuDeviceCanAccessPeer(&can, 2, 2));
  EXPECT_EQ(0, can);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 3));
  EXPECT_CU(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 2));
  EXPECT_EQ(1, can);
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1));

  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(other, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(context, 0));
  EXPECT_CU(cuCtxEnablePeerAccess(other, 0));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
  // One way only.
  ASSERT_CU(cuCtxSetCurrent(other));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(context));
  ASSERT_CU(cuCtxSetCurrent(context));
  EXPECT_CU(cuCtxDisablePeerAccess(other));
  EXPECT_CU(cuCtxEnablePeerAccess(other, 0));
  // The next context of that device has the same handle, and nobody's leave.
  ASSERT_CU(cuDevicePrimaryCtxReset(1));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess(other));
  ASSERT_CU(cuDevicePrimaryCtxRetain(&other, 1));
  EXPECT_CU(cuCtxEnablePeerAccess(other, 0));

  CUcontext beside = nullptr;
  ASSERT_CU(cuCtxCreate(&beside, nullptr, 0, 0));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(context, 0));
  ASSERT_CU(cuCtxDestroy(beside));
  std::thread([this] { EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(other, 0)); }).join();
}

}  // namespace
