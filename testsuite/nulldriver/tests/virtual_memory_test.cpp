// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reserved addresses, memory mapped into them, and its end.

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class VirtualMemory : public NullDriver {
 protected:
  void SetUp() override {
    NullDriver::SetUp();
    property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    property.location.id = 0;
    access.location = property.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASSERT_CU(cuMemGetAllocationGranularity(&bytes, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    ASSERT_CU(cuMemAddressReserve(&base, 2 * bytes, 0, 0, 0));
    ASSERT_CU(cuMemCreate(&memory, bytes, &property, 0));
  }
  CUmemAllocationProp property{};
  CUmemAccessDesc access{};
  size_t bytes = 0;
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle memory = 0;
};

TEST_F(VirtualMemory, TwoMappingsShowTheSameBytes) {
  ASSERT_CU(cuMemMap(base, bytes, 0, memory, 0));
  ASSERT_CU(cuMemMap(base + bytes, bytes, 0, memory, 0));
  ASSERT_CU(cuMemSetAccess(base, 2 * bytes, &access, 1));
  ASSERT_CU(cuMemRelease(memory));
  ASSERT_CU(cuMemsetD32(base, 42, 1));
  unsigned seen = 0;
  ASSERT_CU(cuMemcpyDtoH(&seen, base + bytes, 4));
  EXPECT_EQ(42u, seen);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(base, 2 * bytes));
  EXPECT_CU(cuMemUnmap(base, 2 * bytes));
  EXPECT_CU(cuMemAddressFree(base, 2 * bytes));
}

TEST_F(VirtualMemory, UnmappedAddressesAreNoMemory) {
  unsigned word = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(base, &word, 4));
  ASSERT_CU(cuMemMap(base, bytes, 0, memory, 0));
  ASSERT_CU(cuMemSetAccess(base, bytes, &access, 1));
  EXPECT_CU(cuMemcpyHtoD(base, &word, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, bytes, 0, memory, 0));
  EXPECT_CU(cuMemUnmap(base, bytes));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(base, &word, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(base, bytes));
}

TEST_F(VirtualMemory, MemoryIsReleasedOnce) {
  EXPECT_CU(cuMemRelease(memory));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemRelease(memory));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(base, bytes, 0, memory, 0));
}

}  // namespace
