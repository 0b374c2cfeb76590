// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/runs.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "interposer/tests/byte_sets.h"

namespace streamsan::footprints {
namespace {

using streamsan::testing::ByteSets;
using Ranges = std::vector<StreamSanRange>;

constexpr std::uint64_t kRegionBytes = std::uint64_t{1} << kRegionShift;

/// The marks of a region.
class Region {
 public:
  void mark(unsigned mode, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end; ++at) words_[mode * kModeWords + at / 32] |= 1u << (at % 32);
  }
  void fill(unsigned mode, std::uint32_t word) {
    for (std::uint32_t at = 0; at < kModeWords; ++at) words_[mode * kModeWords + at] = word;
  }
  [[nodiscard]] const std::uint32_t* words() const { return words_.data(); }

 private:
  std::vector<std::uint32_t> words_ = std::vector<std::uint32_t>(kSlotWords);
};

Ranges finished(Runs& runs) {
  std::size_t count = 12345;
  const StreamSanRange* ranges = runs.finish(count);
  return {ranges, ranges + count};
}

struct Expected {
  std::uint64_t begin, end;
  std::uint32_t modes;
};

void expect_ranges(Runs& runs, const std::vector<Expected>& expected) {
  const Ranges ranges = finished(runs);
  ASSERT_EQ(ranges.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(ranges[i].begin, expected[i].begin) << i;
    EXPECT_EQ(ranges[i].end, expected[i].end) << i;
    EXPECT_EQ(ranges[i].modes, expected[i].modes) << i;
  }
}

TEST(Runs, NothingAtAll) {
  Runs runs;
  runs.clear();
  EXPECT_TRUE(finished(runs).empty());
  runs.add_region(7, Region().words());
  EXPECT_TRUE(finished(runs).empty());
  EXPECT_FALSE(runs.full());
}

TEST(Runs, EdgesAreExact) {
  Runs runs;
  runs.clear();
  Region region;
  region.mark(kRead, 0, 1);
  region.mark(kRead, 31, 33);    // over a word's edge
  region.mark(kRead, 64, 128);   // whole words
  region.mark(kRead, 130, 131);  // two in one word
  region.mark(kRead, 159, 160);  // a word's last bit
  region.mark(kRead, kRegionBytes - 1, kRegionBytes);
  runs.add_region(3, region.words());
  const std::uint64_t base = 3 * kRegionBytes;
  expect_ranges(runs, {{base, base + 1, 1},
                       {base + 31, base + 33, 1},
                       {base + 64, base + 128, 1},
                       {base + 130, base + 131, 1},
                       {base + 159, base + 160, 1},
                       {base + kRegionBytes - 1, base + kRegionBytes, 1}});
}

TEST(Runs, ModesAreApartAndInOrder) {
  Runs runs;
  runs.clear();
  Region region;
  region.mark(kAtomic, 8, 12);
  region.mark(kWrite, 8, 16);
  region.mark(kRead, 100, 104);
  region.mark(kWrite, 4, 6);
  runs.add_region(0, region.words());
  expect_ranges(
      runs, {{4, 6, kStreamSanWrite}, {8, 16, kStreamSanWrite}, {8, 12, kStreamSanAtomic}, {100, 104, kStreamSanRead}});
}

TEST(Runs, GoOnFromOneRegionToTheNext) {
  Runs runs;
  runs.clear();
  Region whole, begin;
  whole.fill(kRead, ~0u);
  whole.mark(kWrite, kRegionBytes - 4, kRegionBytes);
  begin.mark(kRead, 0, 4);
  begin.mark(kWrite, 1, 4);  // a byte is between
  const std::uint64_t base = std::uint64_t{0x7f00'0000'0000} >> kRegionShift;
  runs.add_region(base, whole.words());
  runs.add_region(base + 1, whole.words());
  runs.add_region(base + 2, begin.words());
  runs.add_region(base + 4, begin.words());  // not adjacent
  const std::uint64_t at = base << kRegionShift;
  const std::uint64_t r = kRegionBytes;
  expect_ranges(runs, {{at, at + 2 * r + 4, kStreamSanRead},
                       {at + r - 4, at + r, kStreamSanWrite},
                       {at + 2 * r - 4, at + 2 * r, kStreamSanWrite},
                       {at + 2 * r + 1, at + 2 * r + 4, kStreamSanWrite},
                       {at + 4 * r, at + 4 * r + 4, kStreamSanRead},
                       {at + 4 * r + 1, at + 4 * r + 4, kStreamSanWrite}});
}

TEST(Runs, ANewMeasurementKnowsNothingOfTheLast) {
  Runs runs;
  runs.clear();
  Region end, begin;
  end.mark(kRead, kRegionBytes - 8, kRegionBytes);
  begin.mark(kRead, 0, 8);
  runs.add_region(1, end.words());
  runs.clear();
  runs.add_region(2, begin.words());
  expect_ranges(runs, {{2 * kRegionBytes, 2 * kRegionBytes + 8, kStreamSanRead}});
}

TEST(Runs, AgreeWithASetOfBytes) {
  std::mt19937 random(4);
  Runs runs;
  for (int round = 0; round < 12; ++round) {
    runs.clear();
    constexpr unsigned kWindow = 5;
    const std::uint64_t first = 1 + random() % 1'000'000;
    ByteSets expected(first * kRegionBytes, kWindow * kRegionBytes);
    for (unsigned number = 0; number < kWindow; ++number) {
      if (random() % 4 == 0) continue;  // a region that was not touched
      Region region;
      for (unsigned mode = 0; mode < kModes; ++mode) {
        for (unsigned left = random() % 3 * 400; left > 0; --left) {
          const unsigned most = random() % 50 == 0 ? 70'000 : 80;
          const std::uint64_t begin = random() % kRegionBytes;
          const std::uint64_t end = std::min<std::uint64_t>(kRegionBytes, begin + 1 + random() % most);
          region.mark(mode, begin, end);
          const std::uint64_t base = (first + number) * kRegionBytes;
          ASSERT_TRUE(expected.add(mode, base + begin, base + end));
        }
      }
      runs.add_region(first + number, region.words());
    }
    ByteSets found(expected.base, expected.size());
    std::uint64_t last_begin = 0;
    std::uint64_t last_end[kModes] = {};
    for (const StreamSanRange& range : finished(runs)) {
      ASSERT_TRUE(range.modes == 1 || range.modes == 2 || range.modes == 4);
      const unsigned mode = range.modes / 2;
      ASSERT_LT(range.begin, range.end);
      ASSERT_GE(range.begin, last_begin);
      ASSERT_TRUE(last_end[mode] == 0 || range.begin > last_end[mode]) << "they overlap or touch";
      last_begin = range.begin;
      last_end[mode] = range.end;
      ASSERT_TRUE(found.add(mode, range.begin, range.end));
    }
    EXPECT_TRUE(found == expected) << "round " << round;
    EXPECT_FALSE(runs.full());
  }
}

TEST(Runs, WhatIsTooMuchIsSaidAndTheRestIsTrue) {
  constexpr std::size_t kPerRegion = kRegionBytes / 2;
  static_assert(Runs::kMost % kPerRegion == 0);
  Runs runs;
  for (int again = 0; again < 2; ++again) {
    runs.clear();
    EXPECT_FALSE(runs.full());
    Region every_second;
    every_second.fill(kWrite, 0x55555555);
    const std::uint64_t regions = Runs::kMost / kPerRegion;
    for (std::uint64_t i = 0; i < regions; ++i) runs.add_region(i, every_second.words());
    EXPECT_FALSE(runs.full()) << "just as many as there may be";
    Region one_more;
    one_more.mark(kWrite, 10, 20);
    runs.add_region(regions, one_more.words());
    EXPECT_TRUE(runs.full());
    const Ranges ranges = finished(runs);
    ASSERT_EQ(ranges.size(), Runs::kMost);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_EQ(ranges[i].begin, 2 * i);
      ASSERT_EQ(ranges[i].end, 2 * i + 1);
    }
  }
}

}  // namespace
}  // namespace streamsan::footprints
