// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three devices: what tells them apart, the context of each, what may cross from one to another and what may not. An
// executable of its own, as the number of devices is settled at the first call.

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

const int kSettled = setenv("STREAMSAN_NULL_DEVICES", "3", 1);

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

/// The primary contexts of the first two devices, that of the first one current.
class Devices : public NullDriver {
 protected:
  void SetUp() override {
    ASSERT_EQ(0, kSettled);
    NullDriver::SetUp();
    ASSERT_CU(cuDevicePrimaryCtxRetain(&other, 1));
  }
  void TearDown() override {
    NullDriver::TearDown();
    EXPECT_CU(cuDevicePrimaryCtxReset(1));
  }
  static CUresult launch(CUfunction f, CUstream stream) {
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  }
  /// A stream of the second device; the first one stays current.
  CUstream stream_of_other() const {
    CUstream stream = nullptr;
    EXPECT_CU(cuCtxSetCurrent(other));
    EXPECT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CU(cuCtxSetCurrent(context));
    return stream;
  }
  CUdeviceptr memory_of_other(std::size_t bytes) const {
    CUdeviceptr pointer = 0;
    EXPECT_CU(cuCtxSetCurrent(other));
    EXPECT_CU(cuMemAlloc(&pointer, bytes));
    EXPECT_CU(cuCtxSetCurrent(context));
    return pointer;
  }
  CUcontext other = nullptr;
};

TEST_F(Devices, EachHasItsOwnNames) {
  int count = 0;
  ASSERT_CU(cuDeviceGetCount(&count));
  ASSERT_EQ(3, count);
  std::set<std::string> names, uuids, places;
  for (int i = 0; i < count; ++i) {
    CUdevice device = -1;
    ASSERT_CU(cuDeviceGet(&device, i));
    char name[64], place[16];
    CUuuid uuid{};
    EXPECT_CU(cuDeviceGetName(name, sizeof(name), device));
    EXPECT_CU(cuDeviceGetUuid(&uuid, device));
    EXPECT_CU(cuDeviceGetPCIBusId(place, sizeof(place), device));
    names.insert(name);
    uuids.insert(std::string(uuid.bytes, sizeof(uuid.bytes)));
    places.insert(place);
    CUdevice found = -1;
    EXPECT_CU(cuDeviceGetByPCIBusId(&found, place));
    EXPECT_EQ(device, found);
    int bus = -1;
    EXPECT_CU(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
    EXPECT_EQ(i, bus);
  }
  EXPECT_EQ(3u, names.size());
  EXPECT_EQ(3u, uuids.size());
  EXPECT_EQ(3u, places.size());
  CUdevice none = -1;
  int value = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&none, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&none, -1));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&none, "0000:03:00.0"));
}

TEST_F(Devices, PrimaryContextsAreCountedApart) {
  EXPECT_NE(context, other);
  CUcontext again = nullptr;
  unsigned flags = 0;
  int active = -1;
  ASSERT_CU(cuDevicePrimaryCtxRetain(&again, 1));
  EXPECT_EQ(other, again);
  EXPECT_CU(cuDevicePrimaryCtxSetFlags(1, CU_CTX_SCHED_YIELD));
  EXPECT_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(0u, flags);
  EXPECT_CU(cuDevicePrimaryCtxRelease(1));
  EXPECT_CU(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(static_cast<unsigned>(CU_CTX_SCHED_YIELD), flags);
  EXPECT_EQ(1, active);
  EXPECT_CU(cuDevicePrimaryCtxRelease(1));
  EXPECT_CU(cuDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(0, active);
  EXPECT_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(1, active);
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&again, 3));
  EXPECT_CU(cuDevicePrimaryCtxSetFlags(1, 0));
}

TEST_F(Devices, ResetLeavesTheOthersAlone) {
  CUstream mine = nullptr;
  ASSERT_CU(cuStreamCreate(&mine, 0));
  CUstream theirs = stream_of_other();
  ASSERT_CU(cuDevicePrimaryCtxReset(1));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(theirs));
  EXPECT_CU(cuStreamQuery(mine));
}

TEST_F(Devices, ObjectsKnowTheirDevice) {
  CUcontext made = nullptr;
  CUdevice device = -1;
  EXPECT_CU(cuCtxGetDevice(&device));
  EXPECT_EQ(0, device);
  ASSERT_CU(cuCtxCreate(&made, nullptr, 0, 2));
  EXPECT_CU(cuCtxGetDevice(&device));
  EXPECT_EQ(2, device);
  ASSERT_CU(cuCtxDestroy(made));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate(&made, nullptr, 0, 3));

  CUcontext owner = nullptr;
  CUstream stream = stream_of_other();
  EXPECT_CU(cuStreamGetDevice(stream, &device));
  EXPECT_EQ(1, device);
  EXPECT_CU(cuStreamGetCtx(stream, &owner));
  EXPECT_EQ(other, owner);
  EXPECT_CU(cuStreamGetDevice(nullptr, &device));
  EXPECT_EQ(0, device);

  const CUdeviceptr pointer = memory_of_other(64);
  EXPECT_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
  EXPECT_EQ(1, device);
  owner = nullptr;
  EXPECT_CU(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer));
  EXPECT_EQ(other, owner);
}

TEST_F(Devices, FreedMemoryIsNotHandedOutOnAnotherDevice) {
  const CUdeviceptr theirs = memory_of_other(64);
  CUdeviceptr mine = 0;
  size_t free_here = 0;
  size_t total = 0;
  ASSERT_CU(cuMemGetInfo(&free_here, &total));
  EXPECT_EQ(total, free_here);
  ASSERT_CU(cuMemFree(theirs));
  ASSERT_CU(cuMemAlloc(&mine, 64));
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(theirs, memory_of_other(64));
}

TEST_F(Devices, LegacyStreamsDiffer) {
  unsigned long long here = 0;
  unsigned long long there = 0;
  EXPECT_CU(cuStreamGetId(CU_STREAM_LEGACY, &here));
  ASSERT_CU(cuCtxSetCurrent(other));
  EXPECT_CU(cuStreamGetId(CU_STREAM_LEGACY, &there));
  EXPECT_NE(here, there);
}

/// Only a capture in the context that is waited for forbids the wait.
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

TEST_F(Devices, PoolsBelongToADevice) {
  CUmemoryPool here = nullptr;
  CUmemoryPool there = nullptr;
  CUmemoryPool made = nullptr;
  ASSERT_CU(cuDeviceGetDefaultMemPool(&here, 0));
  ASSERT_CU(cuDeviceGetDefaultMemPool(&there, 1));
  EXPECT_NE(here, there);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  ASSERT_CU(cuMemPoolCreate(&made, &properties));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, made));
  EXPECT_CU(cuDeviceSetMemPool(1, made));
  // The stream decides which device's pool; a pool that is named decides itself.
  CUstream stream = stream_of_other();
  CUdeviceptr pointer = 0;
  CUmemoryPool pool = nullptr;
  int device = -1;
  ASSERT_CU(cuMemAllocAsync(&pointer, 64, stream));
  EXPECT_CU(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer));
  EXPECT_EQ(made, pool);
  EXPECT_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
  EXPECT_EQ(1, device);
  EXPECT_CU(cuMemFreeAsync(pointer, stream));
  ASSERT_CU(cuMemAllocFromPoolAsync(&pointer, 64, here, stream));
  EXPECT_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer));
  EXPECT_EQ(0, device);
  EXPECT_CU(cuMemFreeAsync(pointer, stream));
  EXPECT_CU(cuMemPoolDestroy(made));
}

}  // namespace
