// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shadow memories by themselves: splitting, filling, coalescing, pruning, and the counts they keep. The interval
// shadow is also compared, byte by byte, with the naive specification in its header.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "ordering/interval_shadow.h"
#include "ordering/pointer_shadow.h"

namespace streamsan::ordering {
namespace {

class Intervals : public ::testing::Test {
 protected:
  using Reference = IntervalShadow::Reference;

  void remember(Range range, LaneSlot lane, Epoch epoch, bool write, const VectorClock& clock = {}) {
    const AccessPool::Index index = pool.add({.op = OpId{++ops}}, {});
    shadow.remember(range, {epoch, lane, write ? AccessMode::Write : AccessMode::Read, Evidence::Sure, false, index},
                    clock, pool, counters);
    pool.release(index);
  }
  static VectorClock knows(LaneSlot lane, Epoch epoch) {
    VectorClock clock;
    clock.set(lane, epoch);
    return clock;
  }
  std::vector<Range> ranges() const {
    std::vector<Range> all;
    for (const IntervalShadow::Segment& segment : shadow.segments()) all.push_back(segment.range);
    return all;
  }

  IntervalShadow shadow;
  AccessPool pool;
  ShadowCounters counters;
  std::uint64_t ops = 0;
};

TEST_F(Intervals, AnAccessInTheMiddleSplits) {
  remember({0, 100}, 0, 1, true);
  remember({40, 60}, 1, 1, true);
  EXPECT_EQ(ranges(), (std::vector<Range>{{0, 40}, {40, 60}, {60, 100}}));
  EXPECT_EQ(shadow.segments()[1].references.size(), 2u) << "unordered writes are both kept";
  EXPECT_EQ(counters.entries, 4u);
  EXPECT_EQ(pool.live(), 2u);
}

TEST_F(Intervals, AnOrderedWriteReplaces) {
  remember({0, 100}, 0, 1, true);
  remember({40, 60}, 1, 1, true, knows(0, 1));
  EXPECT_EQ(ranges(), (std::vector<Range>{{0, 40}, {40, 60}, {60, 100}}));
  EXPECT_EQ(shadow.segments()[1].references.size(), 1u);
  remember({0, 100}, 1, 2, true, [] {
    VectorClock clock = knows(0, 1);
    clock.set(1, 2);
    return clock;
  }());
  EXPECT_EQ(ranges(), (std::vector<Range>{{0, 100}}));
  EXPECT_EQ(counters.entries, 1u);
  EXPECT_EQ(pool.live(), 1u);
}

TEST_F(Intervals, AReadDoesNotReplaceAWrite) {
  remember({0, 10}, 0, 1, true);
  remember({0, 10}, 1, 1, false, knows(0, 1));
  EXPECT_EQ(shadow.segments()[0].references.size(), 2u);
  remember({0, 10}, 1, 2, false, knows(1, 1));
  EXPECT_EQ(shadow.segments()[0].references.size(), 2u) << "one read of each lane";
}

TEST_F(Intervals, GapsAreFilled) {
  remember({10, 20}, 0, 1, true);
  remember({30, 40}, 0, 2, true);
  remember({0, 50}, 1, 1, false);
  EXPECT_EQ(ranges(), (std::vector<Range>{{0, 10}, {10, 20}, {20, 30}, {30, 40}, {40, 50}}));
}

TEST_F(Intervals, EqualNeighboursCoalesce) {
  const AccessPool::Index index = pool.add({}, {});
  for (Address i = 0; i < 10; ++i) {
    shadow.remember({i * 10, i * 10 + 10}, {1, 0, AccessMode::Write, Evidence::Sure, false, index}, {}, pool, counters);
  }
  pool.release(index);
  EXPECT_EQ(ranges(), (std::vector<Range>{{0, 100}}));
  EXPECT_EQ(counters.entries, 1u);
}

TEST_F(Intervals, ForgetCoveredLeavesTheRest) {
  remember({0, 10}, 0, 1, true);
  remember({10, 20}, 1, 1, true);
  shadow.forget_covered(knows(0, 1), pool, counters);
  EXPECT_EQ(ranges(), (std::vector<Range>{{10, 20}}));
  EXPECT_EQ(counters.entries, 1u);
  EXPECT_EQ(pool.live(), 1u);
}

TEST_F(Intervals, TooManySegmentsForgetTheOldest) {
  const Address most = IntervalShadow::kMostSegments;
  for (Address i = 0; i <= most; ++i) remember({i * 2, i * 2 + 1}, 0, i + 1, true);
  EXPECT_LE(shadow.segments().size(), most);
  EXPECT_EQ(shadow.segments().back().range.begin, most * 2) << "the newest stays";
  EXPECT_EQ(counters.forgotten + counters.entries, most + 1);
  shadow.clear(pool, counters);
  EXPECT_EQ(counters.entries, 0u);
  EXPECT_EQ(pool.live(), 0u);
}

TEST_F(Intervals, AgreesWithTheNaiveSpecification) {
  constexpr Address kBytes = 48;
  constexpr LaneSlot kLanes = 4;
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::array<std::vector<Reference>, kBytes> naive;
    std::array<VectorClock, kLanes> clocks;
    std::array<Epoch, kLanes> last{};
    for (int step = 0; step < 40; ++step) {
      const auto lane = static_cast<LaneSlot>(random() % kLanes);
      if (random() % 3 == 0) clocks[lane].join(clocks[random() % kLanes]);
      clocks[lane].set(lane, ++last[lane]);
      const Address begin = random() % kBytes;
      const Range range{begin, begin + 1 + random() % (kBytes - begin)};
      constexpr AccessMode modes[] = {AccessMode::Read, AccessMode::Write, AccessMode::Atomic};
      const AccessMode mode = modes[random() % 3];
      constexpr Evidence evidences[] = {Evidence::Widened, Evidence::Learned, Evidence::Sure, Evidence::Sure};
      const Evidence evidence = evidences[random() % 4];
      const AccessPool::Index index = pool.add({.op = OpId{++ops}}, {});
      const bool signals = random() % 4 == 0;
      const Reference access{last[lane], lane, mode, evidence, signals, index};
      shadow.remember(range, access, clocks[lane], pool, counters);
      for (Address byte = range.begin; byte < range.end; ++byte) {
        std::erase_if(naive[byte], [&](const Reference& earlier) {
          const bool stands_for = (mode == AccessMode::Write || mode == earlier.mode) && evidence >= earlier.evidence &&
                                  (!signals || earlier.may_signal);
          return stands_for && clocks[lane].covers(earlier.lane, earlier.epoch);
        });
        naive[byte].push_back(access);
      }
      std::size_t entries = 0;
      for (std::size_t i = 0; i < shadow.segments().size(); ++i) {
        const IntervalShadow::Segment& segment = shadow.segments()[i];
        entries += segment.references.size();
        ASSERT_FALSE(segment.range.empty());
        ASSERT_FALSE(segment.references.empty());
        if (i > 0) {
          ASSERT_LE(shadow.segments()[i - 1].range.end, segment.range.begin);
        }
      }
      ASSERT_EQ(entries, counters.entries);
      for (Address byte = 0; byte < kBytes; ++byte) {
        std::vector<Reference> found;
        shadow.for_each_in({byte, byte + 1}, [&](Range, const Reference& reference) { found.push_back(reference); });
        ASSERT_EQ(found, naive[byte]) << "round " << round << ", step " << step << ", byte " << byte;
      }
    }
    shadow.clear(pool, counters);
    ASSERT_EQ(counters.entries, 0u);
  }
}

class Pointers : public ::testing::Test {
 protected:
  void remember(Address pointer, LaneSlot lane, Epoch epoch, std::uint32_t function, AccessMode mode,
                const VectorClock& clock = {}) {
    const Touch touch{{pointer, 1u << 30}, mode};
    const AccessPool::Index index =
        pool.add({.op = OpId{++ops}, .exact = false, .function = FunctionId{function}}, touch);
    shadow.remember(touch,
                    {.epoch = epoch,
                     .lane = lane,
                     .access = index,
                     .function = FunctionId{function},
                     .writes = PointerShadow::writes(mode)},
                    clock, knows_all(clock), pool, counters);
  }
  bool knows_all(const VectorClock& clock) const {
    bool all = true;
    shadow.for_each_below(~Address{0},
                          [&](const PointerShadow::Reference& r) { all = all && clock.covers(r.lane, r.epoch); });
    return all;
  }
  std::size_t at(Address pointer) const {
    std::size_t count = 0;
    shadow.for_each_below(~Address{0},
                          [&](const PointerShadow::Reference& r) { count += pool[r.access].range.begin == pointer; });
    return count;
  }
  static VectorClock knows(LaneSlot lane, Epoch epoch) {
    VectorClock clock;
    clock.set(lane, epoch);
    return clock;
  }

  PointerShadow shadow;
  AccessPool pool;
  ShadowCounters counters;
  std::uint64_t ops = 0;
};

TEST_F(Pointers, TheSameKernelAgainReplaces) {
  for (Epoch e = 1; e <= 100; ++e) remember(64, 0, e, 1, AccessMode::Unknown, knows(0, e));
  EXPECT_EQ(at(64), 1u);
  EXPECT_EQ(pool.live(), 1u);
}

TEST_F(Pointers, UnorderedAccessesAreAllKept) {
  for (LaneSlot lane = 0; lane < 5; ++lane) remember(64, lane, 1, 1, AccessMode::Unknown);
  EXPECT_EQ(at(64), 5u);
}

TEST_F(Pointers, OrderedKernelsAreKeptUpToALimit) {
  for (Epoch e = 1; e <= 100; ++e) remember(64, 0, e, static_cast<std::uint32_t>(e), AccessMode::Write, knows(0, e));
  EXPECT_EQ(at(64), PointerShadow::kKernelsKept);
  EXPECT_EQ(counters.forgotten, 0u);
}

TEST_F(Pointers, AKernelThatMayWriteDoesNotReplaceOneThatDoes) {
  remember(64, 0, 1, 1, AccessMode::Write);
  for (Epoch e = 2; e <= 100; ++e) {
    remember(64, 0, e, static_cast<std::uint32_t>(e % 50), AccessMode::Unknown, knows(0, e));
  }
  EXPECT_EQ(at(64), PointerShadow::kKernelsKept + 1);
}

TEST_F(Pointers, WhatCannotBeReplacedIsForgottenInTheEnd) {
  const auto most = static_cast<LaneSlot>(PointerShadow::kMostPerPointer);
  for (LaneSlot lane = 0; lane < most + 3; ++lane) remember(64, lane, 1, 1, AccessMode::Unknown);
  EXPECT_EQ(at(64), PointerShadow::kMostPerPointer);
  EXPECT_EQ(counters.forgotten, 3u);
  shadow.clear(pool, counters);
  EXPECT_EQ(counters.entries, 0u);
  EXPECT_EQ(pool.live(), 0u);
}

// The naive specification of the header, with the reasons why one stays written out.
TEST_F(Pointers, AgreesWithTheNaiveSpecification) {
  struct Entry {
    LaneSlot lane;
    Epoch epoch;
    std::uint32_t function;
    AccessMode mode;
  };
  const auto writes = [](const Entry& e) { return e.mode != AccessMode::Read; };
  const auto surely = [](const Entry& e) { return e.mode == AccessMode::Write; };
  std::mt19937 generator(11);
  const auto random = [&](std::uint32_t below) { return static_cast<std::uint32_t>(generator() % below); };
  std::vector<Entry> naive;
  std::array<Epoch, 100> epochs{};
  std::size_t longest = 0;
  for (int step = 0; step < 20'000; ++step) {
    // Now and then many lanes, with little order among them: long lists.
    const LaneSlot lanes = step % 5000 < 4000 ? 3 : 100;
    const LaneSlot lane = random(lanes);
    const AccessMode mode = std::array{AccessMode::Read, AccessMode::Read, AccessMode::Unknown,
                                       AccessMode::Write}[random(step % 2000 < 1000 ? 3 : 4)];
    const Entry later{lane, ++epochs[lane], random(8), mode};
    VectorClock clock = knows(lane, later.epoch);
    const std::uint32_t chance = lanes == 3 ? 3 : random(32) == 0 ? random(4) : 0;
    for (LaneSlot other = 0; other < epochs.size(); ++other) {
      if (other != lane && random(4) < chance)
        clock.set(other, epochs[other] - std::min<Epoch>(random(2), epochs[other]));
    }
    std::size_t others = 0;
    std::vector<Entry> kept{later};
    for (auto e = naive.rbegin(); e != naive.rend(); ++e) {
      bool goes = (writes(later) || !writes(*e)) && clock.covers(e->lane, e->epoch);
      if (e->function == later.function) {
        goes = goes && (surely(later) || !surely(*e));
      } else {
        goes = goes && surely(later) == surely(*e) && ++others >= PointerShadow::kKernelsKept;
      }
      if (!goes) kept.insert(kept.begin(), *e);
    }
    if (kept.size() > PointerShadow::kMostPerPointer) kept.erase(kept.begin());
    naive = kept;
    longest = std::max(longest, naive.size());
    remember(64, lane, later.epoch, later.function, mode, clock);
    std::size_t i = 0;
    shadow.for_each_below(~Address{0}, [&](const PointerShadow::Reference& r) {
      ASSERT_LT(i, naive.size());
      EXPECT_EQ(r.lane, naive[i].lane);
      EXPECT_EQ(r.epoch, naive[i].epoch);
      EXPECT_EQ(r.function, FunctionId{naive[i].function});
      ++i;
    });
    ASSERT_EQ(i, naive.size()) << "step " << step;
  }
  EXPECT_EQ(longest, PointerShadow::kMostPerPointer);
}

TEST_F(Pointers, TooManyPointersForgetTheOldest) {
  for (Address p = 0; p <= PointerShadow::kMostPointers; ++p) remember(p * 8, 0, p + 1, 1, AccessMode::Read);
  EXPECT_LE(shadow.pointers(), PointerShadow::kMostPointers);
  EXPECT_GT(counters.forgotten, 0u);
  EXPECT_EQ(at(0), 0u);
  EXPECT_EQ(at(PointerShadow::kMostPointers * 8), 1u);
  shadow.clear(pool, counters);
  EXPECT_EQ(counters.entries, 0u);
  EXPECT_EQ(pool.live(), 0u);
}

TEST_F(Pointers, ForgetCoveredLeavesTheRest) {
  remember(64, 0, 1, 1, AccessMode::Write);
  remember(128, 1, 1, 1, AccessMode::Write);
  shadow.forget_covered(knows(0, 1), pool, counters);
  EXPECT_EQ(at(64), 0u);
  EXPECT_EQ(at(128), 1u);
  EXPECT_EQ(shadow.pointers(), 1u);
}

}  // namespace
}  // namespace streamsan::ordering
