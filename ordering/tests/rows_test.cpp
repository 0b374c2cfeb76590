// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of rows against the bytes they stand for, one by one; and what a set of them costs.
#include "ordering/rows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ordering/access_pool.h"

namespace streamsan::ordering {
namespace {

std::set<Address> bytes(const Footprint& f) {
  std::set<Address> all;
  for (std::uint64_t slice = 0; slice < f.slices; ++slice) {
    for (std::uint64_t row = 0; row < f.rows; ++row) {
      for (Bytes i = 0; i < f.width; ++i) all.insert(f.base + slice * f.slice_pitch + row * f.pitch + i);
    }
  }
  return all;
}

bool has(const std::set<Address>& all, Range range) {
  for (Address a = range.begin; a < range.end; ++a) {
    if (!all.contains(a)) return false;
  }
  return !range.empty();
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  Footprint pattern() {
    Footprint f{1000 + below(200), 1 + below(6), below(40), 1 + below(12)};
    if (below(2)) f.slices = 1 + below(6), f.slice_pitch = below(120);
    if (below(6) == 0) f.pitch = f.width;
    return f;
  }

 private:
  std::mt19937_64 random_;
};

TEST(Rows, SimplifiedIsTheSameBytes) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Footprint given = random.pattern();
    const Footprint f = simplified(given);
    ASSERT_EQ(bytes(given), bytes(f)) << i;
    ASSERT_TRUE(f.rows == 1 || f.pitch > f.width) << i;
    ASSERT_TRUE(f.slices == 1 || (f.rows > 1 && f.slice_pitch >= f.pitch)) << i;
    ASSERT_EQ(hull(given), hull(f)) << i;
  }
}

TEST(Rows, ARangeMeetsARowExactlyIfTheyHaveBytesInCommon) {
  Random random(2);
  int met = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Footprint f = simplified(random.pattern());
    const std::set<Address> all = bytes(f);
    const Address begin = 990 + random.below(400);
    const Range range{begin, begin + 1 + random.below(8)};
    const auto next = all.lower_bound(range.begin);
    const bool common = next != all.end() && *next < range.end;
    const std::optional<Range> row = row_in(f, range);
    ASSERT_EQ(row.has_value(), common) << i;
    if (!row) continue;
    ++met;
    ASSERT_TRUE(row->overlaps(range) && has(all, *row)) << i;
  }
  EXPECT_GT(met, 10'000);
  EXPECT_LT(met, 90'000);
}

TEST(Rows, PatternsMeetExactlyIfTheyHaveBytesInCommon) {
  Random random(3);
  int met = 0;
  for (int i = 0; i < 100'000; ++i) {
    Footprint a = random.pattern(), b = random.pattern();
    if (i % 3 == 0) b.pitch = a.pitch;
    if (i % 6 == 0) b.slice_pitch = a.slice_pitch;
    a = simplified(a), b = simplified(b);
    const std::set<Address> of_a = bytes(a), of_b = bytes(b);
    bool common = false;
    for (const Address each : of_a) common = common || of_b.contains(each);
    std::uint64_t budget = 1'000'000;
    const std::optional<Meeting> meets = meeting(a, b, budget);
    ASSERT_EQ(meets.has_value(), common) << i << ": " << a.base << ' ' << a.width << ' ' << a.pitch << ' ' << a.rows
                                         << ' ' << a.slices << ' ' << a.slice_pitch << " and " << b.base << ' '
                                         << b.width << ' ' << b.pitch << ' ' << b.rows << ' ' << b.slices << ' '
                                         << b.slice_pitch;
    if (!meets) continue;
    ++met;
    ASSERT_TRUE(has(of_a, meets->first) && has(of_b, meets->second)) << i;
    ASSERT_EQ(meets->common, intersection(meets->first, meets->second)) << i;
    ASSERT_FALSE(meets->common.empty()) << i;
  }
  EXPECT_GT(met, 10'000);
  EXPECT_LT(met, 90'000);
}

TEST(Rows, LongRowsOfTwoPitchesMeetWhereArithmeticSays) {
  // Odd places 8, 8 + 6 * 2^20, ... and even pitches: never. A row of the second is shifted by one byte at a time else.
  std::uint64_t budget = 100;
  const Address far = Address{1} << 40;
  const Footprint even{far, 1, 6u << 20, 1u << 20};
  EXPECT_FALSE(meeting(even, {far + 1, 1, 10u << 20, 1u << 20}, budget));
  const Footprint drifting{far + 1, 1, (6u << 20) - 1, 1u << 20};
  const std::optional<Meeting> met = meeting(even, drifting, budget);
  ASSERT_TRUE(met);
  EXPECT_EQ(met->first, row_of(even, 1));
  EXPECT_EQ(met->second, row_of(drifting, 1));
  EXPECT_GT(budget, 90u);
}

TEST(Rows, NumbersThatMakeNoSenseLieNowhere) {
  constexpr std::uint64_t much = ~std::uint64_t{0};
  const Range all{0, kMostAddress};
  EXPECT_TRUE(lies_in({16, 32}, {16, 4, 8, 2}));
  EXPECT_TRUE(lies_in({16, 28}, {16, 4, 8, 2}));
  EXPECT_FALSE(lies_in({16, 27}, {16, 4, 8, 2}));
  EXPECT_FALSE(lies_in({17, 32}, {16, 4, 8, 2}));
  EXPECT_FALSE(lies_in(all, {16, 4, much / 2, 3}));
  EXPECT_FALSE(lies_in(all, {16, much, 1, 1}));
  EXPECT_FALSE(lies_in(all, {16, 1, 1, 1, much, much}));
  EXPECT_FALSE(lies_in(all, {16, 1, 1, 0}));
}

// ---- sets
// ------------------------------------------------------------------------------------------------------------

TEST(RowSets, EqualSetsAreOne) {
  RowSets sets;
  std::vector<Footprint> one{{100, 4, 16, 50}, {2000, 8, 0, 1}};
  std::vector<Footprint> turned{{2000, 8, 0, 1}, {100, 4, 16, 50}};
  std::vector<Footprint> other{{100, 4, 16, 51}, {2000, 8, 0, 1}};
  const RowSets::Id a = sets.intern(one);
  EXPECT_EQ(sets.intern(turned), a);
  const RowSets::Id b = sets.intern(other);
  EXPECT_NE(a, b);
  EXPECT_EQ(sets.hull(a), (Range{100, 2008}));
  sets.release(a);
  sets.release(a);
  EXPECT_EQ(sets.intern(one), a) << "known for a while after the last has forgotten it";
}

TEST(RowSets, MeetRowByRowAndAreComparedOnce) {
  RowSets sets;
  std::vector<Footprint> even, odd, late;
  for (Address i = 0; i < 1000; ++i) {
    even.push_back({i * 64, 16});
    odd.push_back({i * 64 + 32, 16});
  }
  late.push_back({1000 * 64 - 32 + 12, 8, 64, 20});  // its first row ends behind the last of the odd ones
  const RowSets::Id a = sets.intern(even), b = sets.intern(odd), c = sets.intern(late);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(sets.meeting(a, b));
  EXPECT_EQ(sets.compared(), 1u);
  const std::optional<Meeting> met = sets.meeting(b, c);
  ASSERT_TRUE(met);
  EXPECT_EQ(met->common, (Range{1000 * 64 - 20, 1000 * 64 - 16}));
  EXPECT_FALSE(sets.meeting(a, c));
  EXPECT_EQ(sets.row_in(a, {990 * 64 + 15, 990 * 64 + 40}), (Range{990 * 64, 990 * 64 + 16}));
  EXPECT_FALSE(sets.row_in(a, {990 * 64 + 16, 990 * 64 + 64}));
  EXPECT_EQ(sets.row_facing(a, 130), (Range{128, 144})) << "holds the pointer";
  EXPECT_EQ(sets.row_facing(a, 150), (Range{999 * 64, 999 * 64 + 16})) << "reaches furthest";
}

TEST(RowSets, ThoseNobodyRemembersAreForgottenInTheEnd) {
  RowSets sets;
  std::vector<Footprint> kept{{1, 2, 8, 20}};
  const RowSets::Id a = sets.intern(kept);
  for (Address i = 0; i < 100'000; ++i) {
    std::vector<Footprint> pieces;
    for (Address j = 0; j < 32; ++j) pieces.push_back({i * 4096 + j * 64, 4});
    sets.release(sets.intern(pieces));
  }
  EXPECT_LE(sets.live(), RowSets::kMostIdlePieces / 32 + 2);
  EXPECT_EQ(sets.intern(kept), a);
}

}  // namespace
}  // namespace streamsan::ordering
