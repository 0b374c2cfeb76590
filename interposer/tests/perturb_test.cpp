// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations --perturb chooses. What it does to them is shown on the null driver (testsuite/runtime/confirm).
#include "interposer/perturb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace streamsan::recorder {
namespace {

std::string choices(std::uint32_t seed, std::uint32_t stream, std::uint32_t first, std::uint32_t count) {
  std::string delays;
  for (std::uint32_t i = first; i < first + count; ++i) delays += is_delayed(seed, stream, i) ? 'D' : '.';
  return delays;
}

long delayed(const std::string& delays) { return std::ranges::count(delays, 'D'); }

TEST(Perturb, OfTwoStreamsOneIsSlowAndTheSeedSaysWhich) {
  std::set<bool> first_is_slow;
  for (std::uint32_t seed = 0; seed < 64; ++seed) {
    for (std::uint32_t stream = 0; stream < 64; stream += 2) {
      EXPECT_NE(is_slow_stream(seed, stream), is_slow_stream(seed, stream + 1));
      EXPECT_NE(is_slow_stream(seed, kThreadNumbers + stream), is_slow_stream(seed, kThreadNumbers + stream + 1));
    }
    EXPECT_NE(is_slow_stream(seed, kLegacyNumber), is_slow_stream(seed, 0));
    first_is_slow.insert(is_slow_stream(seed, 0));
  }
  EXPECT_EQ(first_is_slow.size(), 2u);
}

/// The seeds somebody tries first make either stream of a pair slow, soon.
TEST(Perturb, FewSeedsMakeEitherStreamSlow) {
  for (std::uint32_t stream = 0; stream < 32; ++stream) {
    int slow = 0;
    for (std::uint32_t seed = 1; seed <= 8; ++seed) slow += is_slow_stream(seed, stream);
    EXPECT_GT(slow, 0) << stream;
    EXPECT_LT(slow, 8) << stream;
  }
}

TEST(Perturb, TheFirstOperationsOfASlowStreamAreAllDelayed) {
  const std::uint32_t slow = is_slow_stream(7, 0) ? 0 : 1;
  EXPECT_EQ(delayed(choices(7, slow, 0, kSlowOperations)), kSlowOperations);
  EXPECT_LT(delayed(choices(7, slow, kSlowOperations, 1000)), 250);
}

TEST(Perturb, OfOtherOperationsAboutOneInEight) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    const long count = delayed(choices(seed, seed % 5, kSlowOperations, 8000));
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

/// A loop with a fixed number of operations has each of them delayed at times.
TEST(Perturb, NoPlaceOfALoopIsSpared) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    for (std::uint32_t length = 2; length <= 16; ++length) {
      for (std::uint32_t place = 0; place < length; ++place) {
        int count = 0;
        for (std::uint32_t turn = 0; turn < 200; ++turn)
          count += is_delayed(seed, 3, kSlowOperations + turn * length + place);
        EXPECT_GT(count, 3) << "seed " << seed << ", place " << place << " of " << length;
        EXPECT_LT(count, 70) << "seed " << seed << ", place " << place << " of " << length;
      }
    }
  }
}

TEST(Perturb, SeedsAndStreamsDiffer) {
  std::set<std::string> seen;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    for (std::uint32_t stream = 0; stream < 20; ++stream) seen.insert(choices(seed, stream, kSlowOperations, 200));
  }
  EXPECT_EQ(seen.size(), 400u);
}

}  // namespace
}  // namespace streamsan::recorder
