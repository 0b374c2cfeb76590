// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/areas.h"

#include <gtest/gtest.h>

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kBase = 0x7f00'0000'0000;

class Areas : public ::testing::Test {
 protected:
  Areas() { forget_areas(); }
  ~Areas() override { forget_areas(); }
  static Area give(std::uint64_t begin, std::uint64_t bytes) {
    Area other = 0;
    const Area area = give_area(begin, bytes, other);
    EXPECT_EQ(other, 0u);
    return area;
  }
};

TEST_F(Areas, AllOfAnAllocationIsOneArea) {
  const Area area = give(kBase, 1024 * kMiB * 3);
  EXPECT_NE(area, 0u);
  for (const std::uint64_t at : {std::uint64_t{0}, kMiB, 1023 * kMiB, 1024 * kMiB, 3 * 1024 * kMiB - 1})
    EXPECT_EQ(area_of(kBase + at), area) << at;
  EXPECT_EQ(area_of(kBase + 3 * 1024 * kMiB), 0u);
  EXPECT_EQ(area_of(kBase - 1), 0u);
}

TEST_F(Areas, NothingIsWhereNothingWasAllocated) {
  EXPECT_EQ(area_of(0), 0u);
  EXPECT_EQ(area_of(kBase), 0u);
  EXPECT_EQ(area_of(~std::uint64_t{0}), 0u) << "no address of a device";
  EXPECT_EQ(give(~std::uint64_t{0} - 4096, 100), 0u);
  EXPECT_EQ(give(kBase, 0), 0u);
}

TEST_F(Areas, OthersHaveOthers) {
  const Area one = give(kBase, 2 * kMiB), other = give(kBase + 2 * kMiB, 2 * kMiB);
  EXPECT_NE(one, other);
}

TEST_F(Areas, SmallOnesThatShareAPieceShareAnArea) {
  const Area one = give(kBase, 512);
  EXPECT_EQ(give(kBase + 512, 512), one);
  EXPECT_EQ(give(kBase + kMiB, 5 * kMiB), one) << "begins in the same piece";
  EXPECT_EQ(area_of(kBase + 5 * kMiB), one);
}

TEST_F(Areas, AnAllocationBetweenTwoMakesThemOne) {
  const Area left = give(kBase, 512), right = give(kBase + 5 * kMiB, 512);
  EXPECT_NE(left, right);
  Area other = 0;
  EXPECT_EQ(give_area(kBase + kMiB, 4 * kMiB, other), left);
  EXPECT_EQ(other, right);
}

TEST_F(Areas, ThePlaceKeepsItsNumber) {
  const Area before = give(kBase, 64 * kMiB);
  EXPECT_EQ(give(kBase, 2 * kMiB), before);
}

TEST_F(Areas, AFullTableHasNoMore) {
  Area last = 1;
  unsigned given = 0;
  for (; last != 0 && given <= kMostAreas; ++given) last = give(kBase + given * 2 * kMiB, 1);
  EXPECT_EQ(last, 0u);
  EXPECT_EQ(given, kMostAreas);
  EXPECT_EQ(area_of(kBase), 1u) << "the others stay";
}

}  // namespace
}  // namespace streamsan::recorder
