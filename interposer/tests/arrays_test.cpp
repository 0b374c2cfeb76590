// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/arrays.h"

#include <gtest/gtest.h>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "ordering/types.h"

namespace streamsan::recorder {

// There is no driver to ask.
constinit std::atomic<void*> g_entry[api::kRowCount]{};
void* find_entry(std::size_t) { return nullptr; }

namespace {

constexpr std::uint64_t kArray = 0x1000, kOther = 0x2000, kLevel = 0x3000;

class Arrays : public ::testing::Test {
 protected:
  ~Arrays() override { in_child::arrays(); }
  static ArrayLayout make(std::uint64_t handle, std::uint64_t width, std::uint64_t height, std::uint64_t depth = 0,
                          std::uint64_t levels = 1, unsigned flags = 0) {
    CUDA_ARRAY3D_DESCRIPTOR is{};
    is.Width = width;
    is.Height = height;
    is.Depth = depth;
    is.Format = CU_AD_FORMAT_FLOAT;
    is.NumChannels = 1;
    is.Flags = flags;
    return array_made(handle, layout_of(is), levels);
  }
};

TEST_F(Arrays, LieBeyondAllAddressesAndApart) {
  const ArrayLayout one = make(kArray, 100, 10), other = make(kOther, 100, 0);
  EXPECT_TRUE(ordering::is_array_address(one.base));
  EXPECT_EQ(one.bytes, 4000u);
  EXPECT_EQ(one.pitch(), 400u);
  EXPECT_EQ(other.bytes, 400u);
  EXPECT_GE(other.base, one.base + one.bytes);
  EXPECT_EQ(array_layout(kArray).base, one.base);
}

TEST_F(Arrays, AnAddressIsNotUsedTwice) {
  const ArrayLayout one = make(kArray, 100, 10);
  EXPECT_EQ(array_going(kArray), one.base);
  EXPECT_EQ(array_layout(kArray).base, 0u);
  EXPECT_EQ(array_going(kArray), 0u);
  EXPECT_NE(make(kArray, 100, 10).base, one.base);
}

TEST_F(Arrays, LevelsLieBehindEachOther) {
  const ArrayLayout whole = make(kArray, 64, 32, 16, 3);
  EXPECT_EQ(whole.bytes, 4u * (64 * 32 * 16 + 32 * 16 * 8 + 16 * 8 * 4));
  level_made(kLevel, kArray, 2);
  const ArrayLayout last = array_layout(kLevel);
  EXPECT_EQ(last.base, whole.base + 4u * (64 * 32 * 16 + 32 * 16 * 8));
  EXPECT_EQ(last.base + last.bytes, whole.base + whole.bytes);
  EXPECT_EQ(last.pitch(), 64u);
  level_made(kOther, kArray, 3);
  EXPECT_EQ(array_layout(kOther).base, 0u) << "there is none";
  array_going(kArray);
  EXPECT_EQ(array_layout(kLevel).base, 0u) << "gone with the whole";
}

TEST_F(Arrays, TheEndOfALevelIsNotThatOfTheWhole) {
  const ArrayLayout whole = make(kArray, 64, 32, 16, 3);
  level_made(kLevel, kArray, 0);
  level_made(kOther, kArray, 1);
  EXPECT_EQ(array_going(kLevel), 0u) << "no memory ends";
  EXPECT_EQ(array_layout(kLevel).base, 0u);
  EXPECT_NE(array_layout(kOther).base, 0u);
  EXPECT_EQ(array_going(kArray), whole.base);
  EXPECT_EQ(array_layout(kOther).base, 0u);
}

TEST_F(Arrays, LevelsKeepTheirLayers) {
  const ArrayLayout whole = make(kArray, 64, 32, 5, 2, CUDA_ARRAY3D_LAYERED);
  EXPECT_EQ(whole.bytes, 4u * 5 * (64 * 32 + 32 * 16));
}

TEST_F(Arrays, OfAnUnknownFormatAreOnePiece) {
  CUDA_ARRAY3D_DESCRIPTOR is{};
  is.Width = 64;
  is.Height = 64;
  is.Format = CU_AD_FORMAT_BC1_UNORM;
  is.NumChannels = 4;
  const ArrayLayout made = array_made(kArray, layout_of(is), 1);
  EXPECT_NE(made.base, 0u);
  EXPECT_EQ(made.element, 0u);
  EXPECT_GE(made.bytes, 64u * 64 * 8);
}

TEST_F(Arrays, SizesThatMakeNoSenseAreNotKept) {
  EXPECT_EQ(make(kArray, ~std::uint64_t{0}, 2).base, 0u);
  EXPECT_EQ(make(kArray, std::uint64_t{1} << 40, std::uint64_t{1} << 40).base, 0u);
  EXPECT_EQ(make(0, 64, 64).base, 0u) << "a null handle";
}

TEST_F(Arrays, NoMoreThanThereIsRoomFor) {
  for (std::uint64_t i = 0; i < kMostArrays; ++i) ASSERT_NE(make(0x10000 + i * 0x100, 4, 0).base, 0u) << i;
  EXPECT_EQ(make(kArray, 4, 0).base, 0u);
  EXPECT_NE(array_going(0x10000), 0u);
  EXPECT_NE(make(kArray, 4, 0).base, 0u);
}

TEST_F(Arrays, TexturesAreOfWhatTheyAreMadeOf) {
  const ArrayLayout array = make(kArray, 100, 10);
  CUDA_RESOURCE_DESC is{};
  is.resType = CU_RESOURCE_TYPE_ARRAY;
  is.res.array.hArray = reinterpret_cast<CUarray>(kArray);
  EXPECT_EQ(textured_memory(is).address, array.base);
  EXPECT_EQ(textured_memory(is).bytes, array.bytes);
  is.res.array.hArray = reinterpret_cast<CUarray>(kOther);
  EXPECT_EQ(textured_memory(is).bytes, 0u) << "not known";
  is = {};
  is.resType = CU_RESOURCE_TYPE_PITCH2D;
  is.res.pitch2D.devPtr = 0x7000;
  is.res.pitch2D.format = CU_AD_FORMAT_HALF;
  is.res.pitch2D.numChannels = 2;
  is.res.pitch2D.width = 10;
  is.res.pitch2D.height = 3;
  is.res.pitch2D.pitchInBytes = 512;
  EXPECT_EQ(textured_memory(is).address, 0x7000u);
  EXPECT_EQ(textured_memory(is).bytes, 1064u);
}

}  // namespace
}  // namespace streamsan::recorder
