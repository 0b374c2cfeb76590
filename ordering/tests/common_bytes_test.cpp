// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hazard::common: all bytes that the two accesses of a hazard touch, not one row of them.
#include "ordering/common_bytes.h"

#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class CommonBytesOf : public ModelTest {
 protected:
  void touch(StreamId stream, AccessMode mode, std::vector<Footprint> pieces) {
    std::vector<KernelBytes> known;
    for (const Footprint& bytes : pieces) known.push_back({.bytes = bytes, .mode = mode});
    model.launch(call(), stream, {.function = FunctionId{1}, .threads = 64}, {}, known);
  }
  CommonBytes only_hazards() {
    const std::vector<Hazard> hazards = found();
    EXPECT_EQ(hazards.size(), 1u);
    return hazards.empty() ? CommonBytes{} : hazards[0].common;
  }
  static Footprint rows(Address base, Bytes width, Bytes pitch, std::uint64_t count) {
    return {base, width, pitch, count};
  }

  static constexpr AccessMode R = AccessMode::Read, W = AccessMode::Write;
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
};

TEST_F(CommonBytesOf, OneRun) {
  touch(s, W, {rows(a + 100, 300, 0, 1)});
  touch(t, R, {rows(a + 350, 300, 0, 1)});
  const CommonBytes all = only_hazards();
  EXPECT_EQ(all.bytes, 50u);
  EXPECT_EQ(all.runs, 1u);
  EXPECT_EQ(all.hull, (Range{a + 350, a + 400}));
}

TEST_F(CommonBytesOf, RunsThatTheShadowKeepsApartAreOne) {
  touch(s, W, {rows(a, 100, 0, 1)});
  touch(s, R, {rows(a + 20, 10, 0, 1)});  // cuts the bytes of the write into three segments
  touch(t, W, {rows(a, 200, 0, 1)});
  const std::vector<Hazard> hazards = found();
  ASSERT_FALSE(hazards.empty());
  for (const Hazard& hazard : hazards) {
    EXPECT_EQ(hazard.common.runs, 1u);
    EXPECT_EQ(hazard.common.bytes, hazard.kind == HazardKind::WriteAfterRead ? 10u : 100u);
  }
}

TEST_F(CommonBytesOf, AFewRowsOfAPitchedArea) {
  touch(s, W, {rows(a, 64, 256, 4)});
  touch(t, R, {rows(a + 32, 64, 256, 8)});
  const CommonBytes all = only_hazards();
  EXPECT_EQ(all.bytes, 4 * 32u);
  EXPECT_EQ(all.runs, 4u);
  EXPECT_EQ(all.width, 32u);
  EXPECT_EQ(all.pitch, 256u);
  EXPECT_EQ(all.hull, (Range{a + 32, a + 3 * 256 + 64}));
  EXPECT_FALSE(all.more);
}

TEST_F(CommonBytesOf, ManyRowsAndARun) {
  touch(s, W, {rows(a, 16, 64, 60)});
  touch(t, R, {rows(a + 64, 640, 0, 1)});
  const CommonBytes all = only_hazards();
  EXPECT_EQ(all.runs, 10u);
  EXPECT_EQ(all.bytes, 160u);
  EXPECT_EQ(all.pitch, 64u);
}

TEST_F(CommonBytesOf, ManyRowsAndManyRows) {
  touch(s, W, {rows(a, 32, 64, 60)});
  touch(t, R, {rows(a + 16, 32, 64, 30)});
  const CommonBytes all = only_hazards();
  EXPECT_EQ(all.runs, 30u);
  EXPECT_EQ(all.width, 16u);
  EXPECT_EQ(all.bytes, 480u);
}

TEST_F(CommonBytesOf, WithoutOneDistanceThereIsNoPattern) {
  touch(s, W, {rows(a, 10, 0, 1), rows(a + 100, 10, 0, 1), rows(a + 500, 20, 0, 1)});
  touch(t, R, {rows(a, 1000, 0, 1)});
  const CommonBytes all = only_hazards();
  EXPECT_EQ(all.runs, 3u);
  EXPECT_EQ(all.bytes, 40u);
  EXPECT_EQ(all.first, 10u);
  EXPECT_EQ(all.width, 0u);
}

TEST_F(CommonBytesOf, WhatAKernelWritesTooIsNotWhatItReadsTooEarly) {
  touch(s, W, {rows(a, 1000, 0, 1)});
  model.launch(
      call(), t, {.function = FunctionId{2}, .threads = 64}, {},
      std::vector<KernelBytes>{{.bytes = rows(a, 10, 0, 1), .mode = R}, {.bytes = rows(a, 300, 0, 1), .mode = W}});
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].common.bytes, hazards[0].kind == HazardKind::ReadAfterWrite ? 10u : 300u);
}

TEST_F(CommonBytesOf, PointersHaveNone) {
  write(s, a);
  model.launch(call(), t, {.function = FunctionId{1}, .threads = 4096},
               std::vector<PointerArgument>{{.address = a, .mode = R}}, {});
  EXPECT_EQ(only_hazards().bytes, 0u);
}

}  // namespace
}  // namespace streamsan::ordering::testing
