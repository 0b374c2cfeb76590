// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The earlier lives of blocks against a plain list of them, which is searched from end to end: with few and with many
// lives, of all sizes, used by one lane or by two, and forgotten in between.
#include "ordering/retired_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>

namespace streamsan::ordering {
namespace {

class RetiredLives : public ::testing::TestWithParam<unsigned> {
 protected:
  struct Life {
    Range range;
    std::map<LaneSlot, Epoch> used;
  };

  Range some_range() {
    const Bytes size = Bytes{512} << random() % 16;  // 512 bytes to 16 MiB: of all groups
    const Address begin = random() % 64 * (size / 2) + (random() % 2) * 512;
    return {begin, begin + size};
  }
  VectorClock some_clock() {
    VectorClock clock;
    for (LaneSlot lane = 0; lane < kLanes; ++lane) clock.set(lane, random() % (epoch + 1));
    return clock;
  }
  /// No life stands for an earlier one that reads. `whole`: one lane writes all of it, and the life stands for one of
  /// the same bytes that this lane alone has used.
  void add(bool whole) {
    const Range range = some_range();
    Life life{.range = range, .used = {}};
    RetiredBlock block{.info = {.id = AllocationId{++newest}, .range = range}, .shadow = {}, .waited = {}, .freed = {}};
    for (unsigned uses = whole ? 1 : 1 + random() % 2; uses > 0; --uses) {
      const auto lane = static_cast<LaneSlot>(random() % kLanes);
      const Range touched{range.begin, whole ? range.end : range.begin + 256};
      const AccessMode mode = whole ? AccessMode::Write : AccessMode::Read;
      const Access access{.mode = mode, .exact = true, .range = touched};
      block.shadow.remember(access, {touched, mode}, {lane, ++epoch, epoch, nothing}, range, pool, counters);
      life.used[lane] = epoch;
    }
    if (whole) {
      const auto replaced = std::find_if(plain.rbegin(), plain.rend(), [&](const auto& other) {
        const auto& used = other.second.used;
        return other.second.range == range && used.size() == 1 && used.begin()->first == life.used.begin()->first;
      });
      if (replaced != plain.rend()) {
        plain.erase(std::next(replaced).base());
        ++replacements;
      }
    }
    plain[newest] = life;
    if (plain.size() > RetiredBlocks::kMostLives) plain.erase(plain.begin());
    lives.add(std::move(block), pool, counters);
  }
  void drop() {
    const Range range = some_range();
    lives.drop_if([&](const RetiredBlock& life) { return life.info.range.overlaps(range); }, pool, counters);
    std::erase_if(plain, [&](const auto& life) { return life.second.range.overlaps(range); });
  }
  void compare() {
    const Range range = some_range();
    const VectorClock clock = some_clock();
    std::multiset<std::uint64_t> found;
    lives.for_each_unfinished_in(
        range, clock, [&](const RetiredBlock& life) { found.insert(static_cast<std::uint64_t>(life.info.id)); });
    std::multiset<std::uint64_t> expected;
    bool any = false;
    for (const auto& [number, life] : plain) {
      if (!life.range.overlaps(range)) continue;
      any = true;
      const bool over =
          std::ranges::all_of(life.used, [&](const auto& use) { return clock.covers(use.first, use.second); });
      if (!over) expected.insert(number);
    }
    ASSERT_EQ(found, expected);
    ASSERT_EQ(lives.any_in(range), any);
  }

  static constexpr LaneSlot kLanes = 3;
  std::mt19937_64 random{GetParam()};
  RetiredBlocks lives;
  std::map<std::uint64_t, Life> plain;
  std::uint64_t newest = 0;
  Epoch epoch = 0;
  unsigned replacements = 0;
  const VectorClock nothing;
  AccessPool pool;
  ShadowCounters counters;
};

INSTANTIATE_TEST_SUITE_P(, RetiredLives, ::testing::Range(0u, 8u));

TEST_P(RetiredLives, AreFoundWhereAListHasThem) {
  const bool many = GetParam() % 2 == 1;  // so many that old ones are forgotten
  for (unsigned step = 0; step < (many ? 4000u : 600u); ++step) {
    add(!many && random() % 3 == 0);
    if (!many && random() % 20 == 0) drop();
    if (step % (many ? 16 : 1) == 0) compare();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(replacements > 0, !many);
}

}  // namespace
}  // namespace streamsan::ordering
