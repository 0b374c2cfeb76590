// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation, copies, fills, and what is known about an address.

#include <array>
#include <numeric>
#include <vector>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class Memory : public NullDriver {
 protected:
  static std::vector<unsigned char> counting(std::size_t n) {
    std::vector<unsigned char> bytes(n);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    return bytes;
  }
};

TEST_F(Memory, FreedBlockIsTheNextHandedOut) {
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  CUdeviceptr again = 0;
  ASSERT_CU(cuMemAlloc(&first, 1000));
  ASSERT_CU(cuMemAlloc(&second, 1000));
  EXPECT_NE(first, second);
  ASSERT_CU(cuMemFree(first));
  ASSERT_CU(cuMemAlloc(&again, 900));
  EXPECT_EQ(first, again);
}

TEST_F(Memory, FreeNeedsTheAddressOfALiveAllocation) {
  CUdeviceptr pointer = 0;
  ASSERT_CU(cuMemAlloc(&pointer, 1000));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(pointer + 16));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(reinterpret_cast<void*>(pointer)));
  EXPECT_CU(cuMemFree(pointer));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(pointer));
  EXPECT_CU(cuMemFree(0));
}

TEST_F(Memory, TooMuchIsOutOfMemory) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&pointer, std::size_t{1} << 45));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&pointer, 0));
}

TEST_F(Memory, LinearCopiesMoveBytes) {
  const auto in = counting(256);
  std::vector<unsigned char> out(256);
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  ASSERT_CU(cuMemAlloc(&a, 256));
  ASSERT_CU(cuMemAlloc(&b, 256));
  ASSERT_CU(cuMemcpyHtoD(a, in.data(), 256));
  ASSERT_CU(cuMemcpyDtoDAsync(b, a, 256, nullptr));
  ASSERT_CU(cuMemcpyDtoH(out.data(), b, 256));
  EXPECT_EQ(in, out);
  ASSERT_CU(cuMemsetD32(b, 0x01020304, 64));
  ASSERT_CU(cuMemcpy(reinterpret_cast<CUdeviceptr>(out.data()), b, 256));
  EXPECT_EQ(4, out[0]);
  EXPECT_EQ(1, out[255]);
}

TEST_F(Memory, CopyBeyondTheAllocationFailsAndMovesNothing) {
  std::vector<unsigned char> out(300, 7);
  CUdeviceptr a = 0;
  ASSERT_CU(cuMemAlloc(&a, 256));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(out.data(), a, 300));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(out.data(), reinterpret_cast<CUdeviceptr>(&a), 8));
  EXPECT_EQ(std::vector<unsigned char>(300, 7), out);
  EXPECT_CU(cuMemcpyDtoH(out.data(), a, 0));
}

TEST_F(Memory, BatchMovesAllOrNothing) {
  auto in = counting(8);
  std::vector<unsigned char> out(8, 7);
  CUdeviceptr device = 0;
  CUstream stream = nullptr;
  ASSERT_CU(cuMemAlloc(&device, 8));
  ASSERT_CU(cuStreamCreate(&stream, 0));
  CUdeviceptr destinations[] = {device, device + 4};
  CUdeviceptr sources[] = {reinterpret_cast<CUdeviceptr>(in.data()), 0};
  size_t sizes[] = {4, 4};
  size_t index = 0;
  CUmemcpyAttributes attributes{};
  ASSERT_CU(cuMemsetD8(device, 7, 8));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &index, 1, stream));
  sources[1] = sources[0] + 4;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &index, 1, nullptr));
  ASSERT_CU(cuMemcpyDtoH(out.data(), device, 8));
  EXPECT_EQ(std::vector<unsigned char>(8, 7), out);
  EXPECT_CU(cuMemcpyBatchAsync(destinations, sources, sizes, 2, &attributes, &index, 1, stream));
  ASSERT_CU(cuMemcpyDtoH(out.data(), device, 8));
  EXPECT_EQ(in, out);
}

TEST_F(Memory, RectangleKeepsWhatIsBesideIt) {
  CUdeviceptr device = 0;
  std::size_t pitch = 0;
  ASSERT_CU(cuMemAllocPitch(&device, &pitch, 10, 4, 4));
  EXPECT_GE(pitch, 10u);
  ASSERT_CU(cuMemsetD2D8(device, pitch, 0xee, 10, 4));
  const auto in = counting(64);
  CUDA_MEMCPY2D shape{};
  shape.srcMemoryType = CU_MEMORYTYPE_HOST;
  shape.srcHost = in.data();
  shape.srcPitch = 16;
  shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.dstDevice = device;
  shape.dstPitch = pitch;
  shape.dstXInBytes = 1;
  shape.dstY = 1;
  shape.WidthInBytes = 3;
  shape.Height = 2;
  ASSERT_CU(cuMemcpy2D(&shape));
  std::array<unsigned char, 10> row{};
  ASSERT_CU(cuMemcpyDtoH(row.data(), device + pitch, 10));
  EXPECT_EQ((std::array<unsigned char, 10>{0xee, 0, 1, 2, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee}), row);
  ASSERT_CU(cuMemcpyDtoH(row.data(), device + 2 * pitch, 10));
  EXPECT_EQ(16, row[1]);
  ASSERT_CU(cuMemcpyDtoH(row.data(), device + 3 * pitch, 10));
  EXPECT_EQ(0xee, row[1]);
}

TEST_F(Memory, BoxMovesLayers) {
  const auto in = counting(2 * 3 * 4);
  std::vector<unsigned char> out(in.size());
  CUdeviceptr device = 0;
  ASSERT_CU(cuMemAlloc(&device, in.size()));
  CUDA_MEMCPY3D shape{};
  shape.srcMemoryType = CU_MEMORYTYPE_HOST;
  shape.srcHost = in.data();
  shape.srcPitch = 4;
  shape.srcHeight = 3;
  shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.dstDevice = device;
  shape.dstPitch = 4;
  shape.dstHeight = 3;
  shape.WidthInBytes = 2;
  shape.Height = 3;
  shape.Depth = 2;
  ASSERT_CU(cuMemsetD8(device, 0xee, in.size()));
  ASSERT_CU(cuMemcpy3DAsync(&shape, nullptr));
  ASSERT_CU(cuMemcpyDtoH(out.data(), device, out.size()));
  EXPECT_EQ(in[12], out[12]);
  EXPECT_EQ(in[21], out[21]);
  EXPECT_EQ(0xee, out[22]);
}

TEST_F(Memory, PointerAttributesTellKindAndRange) {
  CUdeviceptr device = 0;
  CUdeviceptr managed = 0;
  void* pinned = nullptr;
  ASSERT_CU(cuMemAlloc(&device, 100));
  ASSERT_CU(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
  ASSERT_CU(cuMemAllocHost(&pinned, 100));
  unsigned type = 0;
  EXPECT_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 99));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_DEVICE), type);
  EXPECT_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_HOST), type);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 100));
  unsigned is_managed = 0;
  EXPECT_CU(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
  EXPECT_EQ(1u, is_managed);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_CU(cuMemGetAddressRange(&base, &bytes, device + 50));
  EXPECT_EQ(device, base);
  EXPECT_EQ(100u, bytes);
}

TEST_F(Memory, RegisteredMemoryIsKnownUntilUnregistered) {
  std::vector<unsigned char> host(64);
  const auto address = reinterpret_cast<CUdeviceptr>(host.data());
  unsigned type = 0;
  EXPECT_CU(cuMemHostRegister(host.data(), 64, 0));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(host.data() + 32, 64, 0));
  EXPECT_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  EXPECT_CU(cuMemHostUnregister(host.data()));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host.data()));
}

TEST_F(Memory, PoolMemoryComesFromItsPoolAndIsRecycled) {
  CUmemoryPool pool = nullptr;
  ASSERT_CU(cuDeviceGetDefaultMemPool(&pool, 0));
  CUdeviceptr first = 0;
  CUdeviceptr again = 0;
  ASSERT_CU(cuMemAllocAsync(&first, 4096, nullptr));
  CUmemoryPool owner = nullptr;
  EXPECT_CU(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first));
  EXPECT_EQ(pool, owner);
  cuuint64_t used = 0;
  EXPECT_CU(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(4096u, used);
  EXPECT_CU(cuMemFreeAsync(first, nullptr));
  ASSERT_CU(cuMemAllocFromPoolAsync(&again, 4096, pool, nullptr));
  EXPECT_EQ(first, again);
  EXPECT_CU(cuMemFreeAsync(again, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(again, nullptr));
}

}  // namespace
