// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/launch_arguments.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <set>
#include <vector>

#include "interposer/pointer_regions.h"
#include "trace/format.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kBuffer = 0x7f1200000000;

using Words = std::vector<std::uint64_t>;
using Parameters = std::vector<Words>;

LaunchArguments read(const Parameters& parameters, std::uint64_t extent = 1) {
  mark_region(kBuffer, 1 << 20);
  LaunchArguments arguments;
  arguments.extent(extent);
  for (unsigned i = 0; i < parameters.size(); ++i) {
    arguments.parameter(i, reinterpret_cast<const char*>(parameters[i].data()),
                        static_cast<std::uint32_t>(parameters[i].size() * 8));
  }
  return arguments;
}

ArgumentHashes hashes(const Parameters& parameters, std::uint64_t extent = 1) {
  return read(parameters, extent).hashes();
}

/// A kernel that is given a list by value: pointers at the even places.
Words list() {
  Words words(512);
  std::iota(words.begin(), words.end(), 1000);
  for (std::size_t i = 0; i < words.size(); i += 2) words[i] = kBuffer + 64 * i;
  return words;
}

TEST(LaunchArgumentsTest, EqualLaunchesHaveEqualHashes) {
  const Parameters parameters = {{kBuffer}, {7}, list()};
  EXPECT_EQ(hashes(parameters).all, hashes(parameters).all);
  EXPECT_EQ(hashes(parameters).shape, hashes(parameters).shape);
  EXPECT_EQ(hashes(parameters).buffers, hashes(parameters).buffers);
}

TEST(LaunchArgumentsTest, EveryPlainWordMattersToAllAndShapeAlone) {
  const Words words = list();
  const ArgumentHashes base = hashes({{5}, words});
  std::set<std::uint64_t> seen{base.all};
  for (std::size_t i = 1; i < words.size(); i += 2) {
    Words other = words;
    other[i] ^= 1;
    const ArgumentHashes changed = hashes({{5}, other});
    EXPECT_TRUE(seen.insert(changed.all).second) << i;
    EXPECT_NE(base.shape, changed.shape) << i;
    EXPECT_EQ(base.buffers, changed.buffers) << i;
    EXPECT_EQ(base.extents, changed.extents);
  }
}

TEST(LaunchArgumentsTest, EveryPointerMattersToAllAndBuffersAlone) {
  const Words words = list();
  const ArgumentHashes base = hashes({{5}, words});
  std::set<std::uint64_t> seen{base.all};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    Words other = words;
    other[i] += 16;
    const ArgumentHashes changed = hashes({{5}, other});
    EXPECT_TRUE(seen.insert(changed.all).second) << i;
    EXPECT_EQ(base.shape, changed.shape) << i;
    EXPECT_NE(base.buffers, changed.buffers) << i;
  }
}

TEST(LaunchArgumentsTest, ExtentsMatterToAllFour) {
  const ArgumentHashes one = hashes({{kBuffer}, {3}}, 1);
  const ArgumentHashes two = hashes({{kBuffer}, {3}}, 2);
  EXPECT_NE(one.all, two.all);
  EXPECT_NE(one.shape, two.shape);
  EXPECT_NE(one.buffers, two.buffers);
  EXPECT_NE(one.extents, two.extents);
}

TEST(LaunchArgumentsTest, ThePlaceOfAWordMatters) {
  std::set<std::uint64_t> shapes;
  for (std::size_t place = 0; place < 40; ++place) {
    Words words(40);
    words[place] = 9;
    EXPECT_TRUE(shapes.insert(hashes({words}).shape).second) << place;
    words[place] = kBuffer;  // a pointer leaves its mark there
    EXPECT_TRUE(shapes.insert(hashes({words}).shape).second) << place;
  }
}

TEST(LaunchArgumentsTest, PointersMayNotChangePlaces) {
  EXPECT_NE(hashes({{kBuffer}, {kBuffer + 8}}).buffers, hashes({{kBuffer + 8}, {kBuffer}}).buffers);
  EXPECT_EQ(hashes({{kBuffer}, {kBuffer + 8}}).shape, hashes({{kBuffer + 8}, {kBuffer}}).shape);
}

TEST(LaunchArgumentsTest, WordsAreTheSameHoweverTheyAreParted) {
  // Whether four are taken at once depends on where a parameter begins.
  const Words words = list();
  for (const std::size_t cut : {1, 2, 3, 4, 5, 8, 511}) {
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(cut);
    EXPECT_EQ(hashes({words}).all, hashes({{words.begin(), at}, {at, words.end()}}).all) << cut;
  }
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST(LaunchArgumentsTest, ALaterWordDoesNotCancelTheTopBitsOfAnEarlierOne) {
  // For each distance, as words of one chain and of several, a sign and a small number that differ.
  for (unsigned between = 0; between < 9; ++between) {
    for (std::uint64_t other = 1; other < 64; ++other) {
      Parameters one{{kBuffer}, {bits(1.0)}};
      Parameters two{{kBuffer}, {bits(-1.0)}};
      for (unsigned i = 0; i < between; ++i) one.push_back({8 + i}), two.push_back({8 + i});
      one.push_back({32});
      two.push_back({32 ^ other});
      EXPECT_NE(hashes(one).all, hashes(two).all) << between << " " << other;
      one[1] = {0};  // an optional buffer: none, or one
      two[1] = {kBuffer};
      EXPECT_NE(hashes(one).shape, hashes(two).shape) << between << " " << other;
    }
  }
}

TEST(LaunchArgumentsTest, NoPlainWordIsTakenForAPointer) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_NE(hashes({{std::uint64_t{1} << bit}}).shape, hashes({{kBuffer}}).shape) << bit;
  }
}

TEST(LaunchArgumentsTest, SmallParametersMatter) {
  for (std::uint32_t size = 1; size < 8; ++size) {
    std::set<std::uint64_t> shapes;
    for (unsigned value = 0; value < 16; ++value) {
      LaunchArguments arguments;
      const std::uint64_t first = value % 4;
      const std::uint64_t second = value / 4;
      const std::uint64_t whole = 77;
      arguments.parameter(0, reinterpret_cast<const char*>(&first), size);
      arguments.parameter(1, reinterpret_cast<const char*>(&whole), 8);
      arguments.parameter(2, reinterpret_cast<const char*>(&second), size);
      EXPECT_TRUE(shapes.insert(arguments.hashes().shape).second) << size << " " << value;
    }
  }
}

TEST(LaunchArgumentsTest, TheRestOfAParameterMatters) {
  const char one[11] = "0123456789";
  const char two[11] = "012345678x";
  const auto shape = [](const char* bytes, std::uint32_t size) {
    LaunchArguments arguments;
    arguments.parameter(0, bytes, size);
    return arguments.hashes().shape;
  };
  EXPECT_NE(shape(one, 10), shape(two, 10));
  EXPECT_EQ(shape(one, 9), shape(two, 9)) << "what is behind it does not";
}

TEST(LaunchArgumentsTest, PointersAreNotedWithTheirParameter) {
  const LaunchArguments arguments = read({{kBuffer}, {12}, {13, kBuffer + 256}});
  ASSERT_EQ(2u, arguments.count());
  EXPECT_EQ(trace::pointer_word(0, kBuffer), arguments.pointers()[0]);
  EXPECT_EQ(trace::pointer_word(2, kBuffer + 256, true), arguments.pointers()[1]);
}

TEST(LaunchArgumentsTest, TooManyPointersStillMatterToTheHash) {
  Words words(kMostLaunchPointers + 1, kBuffer);
  const LaunchArguments arguments = read({words});
  EXPECT_EQ(kMostLaunchPointers, arguments.count());
  words.back() += 8;
  EXPECT_NE(arguments.hashes().buffers, hashes({words}).buffers);
}

}  // namespace
}  // namespace streamsan::recorder
