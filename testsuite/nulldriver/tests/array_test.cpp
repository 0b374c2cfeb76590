// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays keep what is copied into them, levels are parts of the whole, and objects are numbers that are used again.

#include <cstring>
#include <vector>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class Array : public NullDriver {
 protected:
  static CUarray make(std::size_t width, std::size_t height) {
    CUDA_ARRAY_DESCRIPTOR is{};
    is.Width = width;
    is.Height = height;
    is.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    is.NumChannels = 1;
    CUarray array = nullptr;
    EXPECT_CU(cuArrayCreate(&array, &is));
    return array;
  }
  static CUDA_RESOURCE_DESC of(CUarray array) {
    CUDA_RESOURCE_DESC is{};
    is.resType = CU_RESOURCE_TYPE_ARRAY;
    is.res.array.hArray = array;
    return is;
  }
};

TEST_F(Array, KeepsARectangle) {
  CUarray array = make(8, 4);
  std::vector<char> in(6, 'x'), out(32, '-');
  CUDA_MEMCPY2D up{};
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = in.data();
  up.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  up.dstArray = array;
  up.dstXInBytes = 2;
  up.dstY = 1;
  up.WidthInBytes = 3;
  up.Height = 2;
  ASSERT_CU(cuMemcpy2D(&up));
  CUDA_MEMCPY2D down{};
  down.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  down.srcArray = array;
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = out.data();
  down.WidthInBytes = 8;
  down.Height = 4;
  ASSERT_CU(cuMemcpy2D(&down));
  EXPECT_EQ(0, std::memcmp(out.data() + 8 + 2, "xxx", 3));
  EXPECT_EQ(0, std::memcmp(out.data() + 16 + 2, "xxx", 3));
  EXPECT_NE('x', out[8 + 5]);
  EXPECT_NE('x', out[24 + 2]);
  ASSERT_CU(cuArrayDestroy(array));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
}

TEST_F(Array, KeepsALine) {
  CUarray array = make(16, 0);
  char out[4] = {};
  ASSERT_CU(cuMemcpyHtoA(array, 4, "abcd", 4));
  ASSERT_CU(cuMemcpyAtoA(array, 10, array, 5, 3));
  ASSERT_CU(cuMemcpyAtoH(out, array, 10, 3));
  EXPECT_EQ(0, std::memcmp(out, "bcd", 3));
}

TEST_F(Array, LevelsEndWithTheWhole) {
  CUDA_ARRAY3D_DESCRIPTOR is{};
  is.Width = 8;
  is.Height = 8;
  is.Format = CU_AD_FORMAT_FLOAT;
  is.NumChannels = 1;
  CUmipmappedArray whole = nullptr;
  ASSERT_CU(cuMipmappedArrayCreate(&whole, &is, 2));
  CUarray level = nullptr;
  ASSERT_CU(cuMipmappedArrayGetLevel(&level, whole, 1));
  CUDA_ARRAY3D_DESCRIPTOR half{};
  ASSERT_CU(cuArray3DGetDescriptor(&half, level));
  EXPECT_EQ(4u, half.Width);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, whole, 2));
  ASSERT_CU(cuArrayDestroy(level));
  EXPECT_CU(cuArray3DGetDescriptor(&half, level)) << "that had no effect";
  ASSERT_CU(cuMipmappedArrayDestroy(whole));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuArray3DGetDescriptor(&half, level));
}

TEST_F(Array, ObjectsAreNumbersThatAreUsedAgain) {
  const CUDA_RESOURCE_DESC is = of(make(8, 8));
  const CUDA_TEXTURE_DESC how{};
  CUtexObject texture = 0, again = 0;
  CUsurfObject surface = 0;
  ASSERT_CU(cuTexObjectCreate(&texture, &is, &how, nullptr));
  ASSERT_CU(cuSurfObjectCreate(&surface, &is));
  EXPECT_EQ(texture, surface) << "they are counted apart";
  ASSERT_CU(cuTexObjectDestroy(texture));
  ASSERT_CU(cuTexObjectCreate(&again, &is, &how, nullptr));
  EXPECT_EQ(texture, again);
  ASSERT_CU(cuTexObjectDestroy(again));
  ASSERT_CU(cuSurfObjectDestroy(surface));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(surface));
}

}  // namespace
