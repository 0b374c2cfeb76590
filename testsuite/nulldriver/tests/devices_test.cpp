// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several devices: what tells them apart, the primary context of each, what belongs to which.

#include <set>
#include <string>

#include "testsuite/nulldriver/tests/devices_fixture.h"

namespace {

/// Toolkits differ in whether the number stands in a union.
CUmemLocation of_device(int number) {
  CUmemLocation place{};
  place.type = CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = number;
  return place;
}

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
TEST_F(Devices, PoolsBelongToADevice) {
  CUmemoryPool here = nullptr;
  CUmemoryPool there = nullptr;
  CUmemoryPool made = nullptr;
  ASSERT_CU(cuDeviceGetDefaultMemPool(&here, 0));
  ASSERT_CU(cuDeviceGetDefaultMemPool(&there, 1));
  EXPECT_NE(here, there);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = of_device(1);
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

TEST_F(Devices, VirtualMemoryIsMadeOnADevice) {
  constexpr size_t kBytes = size_t{2} << 20;
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location = of_device(1);
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr base = 0;
  ASSERT_CU(cuMemCreate(&handle, kBytes, &property, 0));
  ASSERT_CU(cuMemAddressReserve(&base, kBytes, 0, 0, 0));
  ASSERT_CU(cuMemMap(base, kBytes, 0, handle, 0));
  CUmemAccessDesc access[2] = {{property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                               {of_device(3), CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemSetAccess(base, kBytes, access, 2));
  access[1].location.id = 0;
  EXPECT_CU(cuMemSetAccess(base, kBytes, access, 2));
  EXPECT_CU(cuMemsetD8(base, 1, kBytes));
  int device = -1;
  EXPECT_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base));
  EXPECT_EQ(1, device);
  EXPECT_CU(cuMemUnmap(base, kBytes));
  EXPECT_CU(cuMemAddressFree(base, kBytes));
  EXPECT_CU(cuMemRelease(handle));
  property.location.id = 3;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&handle, kBytes, &property, 0));
}

}  // namespace
