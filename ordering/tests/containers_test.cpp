// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flat map against std::map, the plain list against std::vector, the table of allocations, vector clocks, and the
// spans of assumed rules.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "ordering/allocations.h"
#include "ordering/assumptions.h"
#include "ordering/flat_map.h"
#include "ordering/kept_node.h"
#include "ordering/plain_list.h"
#include "ordering/two_clocks.h"

namespace streamsan::ordering {
namespace {

TEST(FlatMap, AskingForAKnownKeyMovesNothing) {
  // At every size, so also where one more entry would make the table grow.
  FlatMap<int> map;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    map[key] = 1;
    const int* first = &map[0];
    map[key] = 2;
    ASSERT_EQ(&map[0], first) << key;
  }
}

TEST(FlatMap, AgreesWithStdMap) {
  std::mt19937_64 random(3);
  for (const std::uint64_t keys : {4u, 40u, 4000u}) {
    FlatMap<std::uint64_t> fast;
    std::map<std::uint64_t, std::uint64_t> slow;
    for (int step = 0; step < 50'000; ++step) {
      const std::uint64_t key = random() % keys * 512;
      if (random() % 2) {
        fast[key] = slow[key] = random();
      } else {
        ASSERT_EQ(fast.erase(key), slow.erase(key) == 1);
      }
      ASSERT_EQ(fast.size(), slow.size());
      const std::uint64_t other = random() % keys * 512;
      const auto found = slow.find(other);
      const std::uint64_t* value = fast.find(other);
      ASSERT_EQ(value != nullptr, found != slow.end());
      if (value) {
        ASSERT_EQ(*value, found->second);
      }
    }
    std::map<std::uint64_t, std::uint64_t> all;
    fast.for_each([&](std::uint64_t key, std::uint64_t value) { all[key] = value; });
    EXPECT_EQ(all, slow);
  }
}

TEST(FlatMap, AClearedTableIsAsGoodAsNew) {
  for (const std::uint64_t keys : {0u, 1u, 2u, 6u, 100u}) {
    FlatMap<std::vector<int>> map;
    for (int round = 0; round < 3; ++round) {
      for (std::uint64_t key = 0; key < keys; ++key) {
        ASSERT_TRUE(map[key * 512].empty());
        map[key * 512].push_back(round);
      }
      std::size_t visited = 0;
      map.for_each([&](std::uint64_t, const std::vector<int>& value) { visited += value.size(); });
      ASSERT_EQ(visited, keys);
      map.clear_small([](std::vector<int>& value) { value.clear(); });
      ASSERT_EQ(map.size(), 0u);
      ASSERT_EQ(map.find(0), nullptr);
      map.for_each([](std::uint64_t, const std::vector<int>&) { FAIL(); });
    }
  }
}

TEST(FlatMap, ALoneEntryIsFoundWhereverItIs) {
  FlatMap<int> map;
  map[1] = 1;
  map[2] = 2;
  map.erase(2);  // the one that came last
  int sum = 0;
  map.for_each([&](std::uint64_t, int value) { sum += value; });
  EXPECT_EQ(sum, 1);
}

TEST(PlainList, AgreesWithStdVector) {
  std::mt19937 random(7);
  std::vector<PlainList<int>> fast(4);
  std::vector<std::vector<int>> slow(4);
  for (int step = 0; step < 50'000; ++step) {
    const std::size_t i = random() % 4;
    const std::size_t other = random() % 4;
    PlainList<int>& list = fast[i];
    std::vector<int>& same = slow[i];
    switch (random() % 16) {
      case 0:
        list = fast[other];
        same = std::vector<int>(slow[other]);
        break;
      case 1:
        list = std::move(fast[other]);
        if (i != other) same = std::exchange(slow[other], {});
        break;
      case 2: {
        PlainList<int> copy(list);
        PlainList<int> moved(std::move(list));
        ASSERT_TRUE(list.empty());
        ASSERT_TRUE(copy == moved);
        list = std::move(copy);
        break;
      }
      case 3:
        list.clear();
        same.clear();
        break;
      case 4:
        list.reset();
        same.clear();
        ASSERT_EQ(list.capacity(), 0u);
        break;
      case 5:
        list.truncate(list.size() / 2);
        same.resize(same.size() / 2);
        break;
      case 6: {
        const std::size_t size = random() % 40;
        list.resize(size, step);
        same.resize(size, step);
        break;
      }
      case 7: {
        const auto is_odd = [](int value) { return value % 2 != 0; };
        ASSERT_EQ(list.erase_if(is_odd), std::erase_if(same, is_odd));
        break;
      }
      case 8:
        list.assign(slow[other].data(), slow[other].data() + slow[other].size());
        same = std::vector<int>(slow[other]);
        break;
      case 9:
        list.reserve(random() % 20);
        break;
      case 10:  // one of its own, which moves if there is no room
        if (list.empty()) break;
        list.push_back(list.front());
        same.push_back(int{same.front()});
        break;
      default:
        list.push_back(step);
        same.push_back(step);
    }
    ASSERT_EQ(std::vector<int>(list.begin(), list.end()), same);
    ASSERT_GE(list.capacity(), list.size());
    ASSERT_EQ(fast[i] == fast[other], slow[i] == slow[other]);
    if (!same.empty()) {
      ASSERT_EQ(list.back(), same.back());
    }
  }
}

TEST(KeptNode, TheMapIsAsWithoutIt) {
  std::mt19937 random(5);
  std::map<int, int> map, plain;
  KeptNode<std::map<int, int>> kept;
  for (int step = 0; step < 10'000; ++step) {
    const int key = static_cast<int>(random() % 16);
    if (const auto at = map.find(key); random() % 2 && at != map.end()) {
      const auto next = kept.erase(map, at);
      const auto plain_next = plain.erase(plain.find(key));
      ASSERT_EQ(next == map.end(), plain_next == plain.end());
    } else {
      kept.assign(map, key, step);  // also of a key that is there
      plain[key] = step;
    }
    ASSERT_EQ(map, plain);
  }
}

// Entries and addresses are used again and again, in other pairs each time.
TEST(Allocations, WhatHoldsTheAddressIsFound) {
  constexpr Address kPlaces = 12, kSize = 64;
  std::mt19937 random(5);
  Allocations table;
  std::map<Address, Allocation*> lives;  // by place
  for (std::uint64_t step = 1; step <= 50'000; ++step) {
    const Address place = random() % kPlaces;
    if (const auto life = lives.find(place); life != lives.end()) {
      table.remove(*life->second);
      lives.erase(life);
    } else {
      const Address begin = place * kSize + random() % 8;
      lives[place] = &table.add(AllocationId{step}, {begin, begin + 1 + random() % 32}, MemoryKind::Device);
    }
    for (int i = 0; i < 4; ++i) {
      const Address address = random() % (kPlaces * kSize);
      const auto life = lives.find(address / kSize);
      const bool held = life != lives.end() && life->second->info.range.contains(address);
      ASSERT_EQ(table.find(address), held ? life->second : nullptr) << "step " << step << ", address " << address;
    }
  }
}

TEST(VectorClock, JoinTakesTheGreaterOfEachLane) {
  VectorClock a;
  VectorClock b;
  a.set(0, 5);
  a.set(1, 1);
  b.set(1, 7);
  b.set(3, 2);
  EXPECT_FALSE(b.within(a));
  a.join(b);
  EXPECT_EQ(a[0], 5u);
  EXPECT_EQ(a[1], 7u);
  EXPECT_EQ(a[2], 0u);
  EXPECT_EQ(a[3], 2u);
  EXPECT_EQ(a[99], 0u);
  EXPECT_TRUE(b.within(a));
  EXPECT_FALSE(a.within(b));
  EXPECT_TRUE(a.covers(99, 0));
  EXPECT_FALSE(a.covers(3, 3));
}

VectorClock lane_zero(Epoch epoch) {
  VectorClock clock;
  clock.set(0, epoch);
  return clock;
}

TEST(Assumptions, TheFirstRuleThatCoveredIsNamed) {
  Assumptions assumptions;
  assumptions.note(Rule::CPY_14, lane_zero(3));
  assumptions.note(Rule::ALC_02, lane_zero(5));
  assumptions.note(Rule::ALC_02, lane_zero(8));
  EXPECT_EQ(assumptions.covering(0, 3), Rule::CPY_14);
  EXPECT_EQ(assumptions.covering(0, 4), Rule::ALC_02);
  EXPECT_EQ(assumptions.covering(0, 8), Rule::ALC_02);
  EXPECT_EQ(assumptions.covering(0, 9), std::nullopt);
  EXPECT_EQ(assumptions.covering(1, 1), std::nullopt);
}

}  // namespace
}  // namespace streamsan::ordering
