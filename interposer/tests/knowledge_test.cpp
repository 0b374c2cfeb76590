// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches are written as the three numbers of their hashes: family, shape, key. Each key has buffers of its own, but
// for the launches of the tests about buffers.
#include "interposer/knowledge.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "interposer/fork.h"
#include "interposer/tests/options_stub.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kLaunches = 12;  // footprint_launches
constexpr std::uint32_t kOne = 7, kOther = 8;

LaunchHashes launch(std::uint64_t family, std::uint64_t shape, std::uint64_t key) {
  return {.key = 1000 + key, .shape = 1000 * family + shape, .buffers = 1000 + key, .family = 1000 + family};
}

/// One kernel with these buffers and scalars; other scalars make another shape, either makes another key.
LaunchHashes launch_on(std::uint64_t buffers, std::uint64_t scalars) {
  return {.key = 1000 * buffers + scalars, .shape = scalars, .buffers = buffers, .family = 1};
}

class Knowledge : public ::testing::Test {
 protected:
  Knowledge() {
    in_child::knowledge();
    testing::test_options().footprint_launches = kLaunches;
  }
  ~Knowledge() override { in_child::knowledge(); }

  Function kernel_{.id = 0};
  Function other_kernel_{.id = 1};
};

TEST_F(Knowledge, BeginsWithNothing) {
  for (const std::uint64_t hash : {0ull, 1ull, 1000ull, ~0ull}) {
    const LaunchHashes hashes{hash, hash, hash, hash};
    EXPECT_EQ(learned_footprint(hashes), 0u);
    EXPECT_FALSE(is_hopeless(hashes, kernel_));
    EXPECT_TRUE(worth_measuring(hashes, kernel_));
  }
  EXPECT_FALSE(is_known_to_wait(kernel_));
}

TEST_F(Knowledge, AHashMayBeAnyNumber) {
  for (const std::uint64_t hash : {0ull, 1ull, ~0ull}) {
    const LaunchHashes hashes{hash, hash, hash, hash};
    learn(hashes, kOne);
    EXPECT_EQ(learned_footprint(hashes), kOne);
    EXPECT_TRUE(first_of_key(hashes));
  }
}

TEST_F(Knowledge, AKeyIsKnownAtOnceAndMeasuredTwice) {
  learn(launch(1, 1, 1), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), kOne);
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_)) << "the second time may differ";
  learn(launch(1, 1, 1), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), kOne);
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_));
}

TEST_F(Knowledge, AnEarlierRunsAnswerIsAsGoodAsAMeasurement) {
  ASSERT_TRUE(may_be_answered(launch(1, 1, 1), 1));
  learn_earlier(launch(1, 1, 1), kOne, 1);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), kOne);
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_)) << "it was measured once";
  EXPECT_FALSE(may_be_answered(launch(1, 1, 1), 9)) << "not twice: it says nothing new";
  learn(launch(1, 1, 1), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u) << "what differs is not known";
}

TEST_F(Knowledge, AnAnswerStandsForAsManyLaunchesAsWereMeasured) {
  ASSERT_TRUE(may_be_answered(launch(1, 1, 1), 2));
  learn_earlier(launch(1, 1, 1), kOne, 2);
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_)) << "it was measured twice";
  ASSERT_TRUE(may_be_answered(launch(1, 1, 2), 2));
  learn_earlier(launch(1, 1, 2), kOne, 2);
  EXPECT_FALSE(may_be_answered(launch(1, 1, 3), 2)) << "nobody has seen a third one";
  EXPECT_TRUE(may_be_answered(launch(1, 2, 4), 2)) << "another shape";
  // Three of one shape are enough within one run, too.
  EXPECT_TRUE(may_be_answered(launch(1, 1, 3), 3));
  learn_earlier(launch(1, 1, 3), kOne, 2);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), kOne);
}

TEST_F(Knowledge, WhatWasMeasuredOrGivenUpHereIsNotAnswered) {
  learn(launch(1, 1, 1), kOne);
  EXPECT_FALSE(may_be_answered(launch(1, 1, 1), 9));
  give_up(launch(1, 1, 2));
  EXPECT_FALSE(may_be_answered(launch(1, 1, 2), 9));
}

TEST_F(Knowledge, TwoResultsAreNone) {
  learn(launch(1, 1, 1), kOne);
  learn(launch(1, 1, 1), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u);
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_)) << "only measuring tells";
  learn(launch(1, 1, 1), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u) << "never again";
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_));
  // Nor for the keys beside it, whatever they show.
  for (std::uint64_t key = 2; key < 10; ++key) learn(launch(1, 1, key), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), 0u);
  EXPECT_EQ(learned_footprint(launch(1, 1, 2)), kOther) << "they have their own";
}

TEST_F(Knowledge, ALateDifferenceCountsToo) {
  learn(launch(1, 1, 1), kOne);
  learn(launch(1, 1, 1), kOne);
  learn(launch(1, 1, 1), kOther);  // the judge had asked
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u);
}

TEST_F(Knowledge, AShapeNeedsTwoFurtherKeys) {
  learn(launch(1, 1, 1), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), 0u);
  learn(launch(1, 1, 2), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), 0u);
  learn(launch(1, 1, 3), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 2, 99)), 0u) << "not another shape";
}

TEST_F(Knowledge, OneKeyAgainAndAgainMakesNoShapeKnown) {
  for (int time = 0; time < 20; ++time) learn(launch(1, 1, 1), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), 0u);
}

TEST_F(Knowledge, KeysThatDifferMakeTheShapeUnknown) {
  for (std::uint64_t key = 1; key <= 3; ++key) learn(launch(1, 1, key), kOne);
  ASSERT_EQ(learned_footprint(launch(1, 1, 99)), kOne);
  learn(launch(1, 1, 4), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), 0u);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), kOne) << "a key that was measured stays as it is";
  EXPECT_EQ(learned_footprint(launch(1, 1, 4)), kOther);
}

TEST_F(Knowledge, BuffersNeedThreeFurtherKeys) {
  for (std::uint64_t scalars = 1; scalars <= 4; ++scalars) {
    EXPECT_EQ(learned_footprint(launch_on(1, 99)), 0u) << scalars;
    EXPECT_TRUE(worth_measuring(launch_on(1, 99), kernel_)) << scalars;
    learn(launch_on(1, scalars), kOne);
  }
  EXPECT_EQ(learned_footprint(launch_on(1, 99)), kOne);
  EXPECT_FALSE(worth_measuring(launch_on(1, 99), kernel_)) << "no further step number teaches anything";
  EXPECT_EQ(learned_footprint(launch_on(2, 99)), 0u) << "not other buffers";
  EXPECT_TRUE(worth_measuring(launch_on(2, 99), kernel_));
}

TEST_F(Knowledge, OneKeyAgainAndAgainMakesNoBuffersKnown) {
  for (int time = 0; time < 8; ++time) learn(launch_on(1, 1), kOne);
  EXPECT_EQ(learned_footprint(launch_on(1, 99)), 0u);
  EXPECT_TRUE(worth_measuring(launch_on(1, 99), kernel_));
}

TEST_F(Knowledge, ScalarsThatDifferMakeTheBuffersUnknownForGood) {
  for (std::uint64_t scalars = 1; scalars <= 4; ++scalars) learn(launch_on(1, scalars), kOne);
  ASSERT_EQ(learned_footprint(launch_on(1, 99)), kOne);
  learn(launch_on(1, 5), kOther);
  EXPECT_EQ(learned_footprint(launch_on(1, 99)), 0u);
  EXPECT_TRUE(worth_measuring(launch_on(1, 99), kernel_)) << "each launch is measured again";
  EXPECT_EQ(learned_footprint(launch_on(1, 1)), kOne) << "a key that was measured stays as it is";
  EXPECT_EQ(learned_footprint(launch_on(1, 5)), kOther);
  for (std::uint64_t scalars = 6; scalars <= 11; ++scalars) learn(launch_on(1, scalars), kOther);
  EXPECT_EQ(learned_footprint(launch_on(1, 99)), 0u) << "whatever later ones show";
}

TEST_F(Knowledge, BuffersThatDifferSayNothingAboutOthers) {
  learn(launch_on(1, 1), kOne);
  learn(launch_on(1, 2), kOther);
  for (std::uint64_t scalars = 11; scalars <= 14; ++scalars) learn(launch_on(2, scalars), kOne);
  EXPECT_EQ(learned_footprint(launch_on(1, 99)), 0u);
  EXPECT_EQ(learned_footprint(launch_on(2, 99)), kOne);
}

TEST_F(Knowledge, AKeyThatVariesIsNotServedByItsBuffers) {
  for (std::uint64_t scalars = 1; scalars <= 4; ++scalars) learn(launch_on(1, scalars), kOne);
  ASSERT_EQ(learned_footprint(launch_on(1, 99)), kOne);
  learn(launch_on(2, 5), kOne);
  learn(launch_on(2, 5), kOther);
  LaunchHashes varying = launch_on(2, 5);
  varying.buffers = 1;
  EXPECT_EQ(learned_footprint(varying), 0u);
}

TEST_F(Knowledge, AFamilyNeedsEightFurtherShapes) {
  for (std::uint64_t shape = 0; shape <= 8; ++shape) {
    EXPECT_EQ(learned_footprint(launch(1, 99, 99)), 0u) << shape << " shapes";
    EXPECT_TRUE(worth_measuring(launch(1, 99, 99), kernel_)) << shape << " shapes";
    learn(launch(1, shape, shape), kOne);
  }
  EXPECT_EQ(learned_footprint(launch(1, 99, 99)), kOne);
  EXPECT_FALSE(worth_measuring(launch(1, 99, 99), kernel_));
  EXPECT_EQ(learned_footprint(launch(2, 99, 98)), 0u) << "not another family";
  EXPECT_TRUE(worth_measuring(launch(2, 99, 98), kernel_));
}

TEST_F(Knowledge, OneShapeAgainAndAgainMakesNoFamilyKnown) {
  for (std::uint64_t key = 1; key <= 40; ++key) {
    learn(launch(1, 1, key), kOne);
    learn(launch(1, 1, key), kOne);
  }
  EXPECT_EQ(learned_footprint(launch(1, 1, 99)), kOne);
  EXPECT_EQ(learned_footprint(launch(1, 2, 99)), 0u);
}

TEST_F(Knowledge, ShapesThatDifferMakeTheFamilyUnknown) {
  for (std::uint64_t shape = 0; shape <= 8; ++shape) learn(launch(1, shape, shape), kOne);
  ASSERT_EQ(learned_footprint(launch(1, 99, 99)), kOne);
  learn(launch(1, 50, 50), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 99, 99)), 0u);
  EXPECT_EQ(learned_footprint(launch(1, 3, 3)), kOne);
}

TEST_F(Knowledge, AKeyThatVariesIsNotServedByItsFamily) {
  learn(launch(1, 1, 1), kOne);
  learn(launch(1, 1, 1), kOther);
  for (std::uint64_t shape = 2; shape < 20; ++shape) learn(launch(1, shape, shape), kOther);
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u);
  EXPECT_EQ(learned_footprint(launch(1, 99, 99)), 0u);
}

TEST_F(Knowledge, AFamilyIsMeasuredSoManyTimes) {
  for (unsigned time = 0; time < kLaunches; ++time) {
    EXPECT_TRUE(worth_measuring(launch(1, 1, 100 + time), kernel_)) << time;
    learn(launch(1, 1, 100 + time), time % 2 ? kOne : kOther);
  }
  EXPECT_FALSE(worth_measuring(launch(1, 1, 99), kernel_));
  EXPECT_FALSE(worth_measuring(launch(1, 2, 98), kernel_)) << "another shape";
  EXPECT_TRUE(worth_measuring(launch(2, 2, 98), kernel_)) << "another family";
}

TEST_F(Knowledge, AKeyThatVariesIsMeasuredNoOftenerThanItsFamily) {
  for (unsigned time = 0; time < kLaunches; ++time) {
    EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_)) << time;
    learn(launch(1, 1, 1), time % 2 ? kOne : kOther);
  }
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_));
}

TEST_F(Knowledge, AttemptsCountAgainstTheLimitsButTeachNothing) {
  for (unsigned time = 0; time < kLaunches; ++time) {
    EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_)) << time;
    count_attempt(launch(1, 1, 1));
  }
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_));
  EXPECT_FALSE(is_hopeless(launch(1, 1, 1), kernel_)) << "the judge may still ask";
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u);
}

TEST_F(Knowledge, AShapeCountsForItsFamilyThoughAnAttemptHadFailedBefore) {
  for (std::uint64_t shape = 0; shape <= 8; ++shape) {
    if (shape > 0) count_attempt(launch(1, shape, shape));
    learn(launch(1, shape, shape), kOne);
  }
  EXPECT_EQ(learned_footprint(launch(1, 99, 99)), kOne);
}

TEST_F(Knowledge, NoLaunchesMeansNone) {
  testing::test_options().footprint_launches = 0;
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_));
}

TEST_F(Knowledge, WhatIsGivenUpIsNotTriedAgain) {
  learn(launch(1, 1, 2), kOne);
  give_up(launch(1, 1, 1));
  EXPECT_TRUE(is_hopeless(launch(1, 1, 1), kernel_));
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_));
  EXPECT_FALSE(is_hopeless(launch(1, 1, 2), kernel_));
  EXPECT_TRUE(worth_measuring(launch(1, 1, 2), kernel_)) << "other keys of the shape are";
  // Each key by itself: they end with the shape's limit.
  for (std::uint64_t key = 3; key < 3 + kLaunches; ++key) give_up(launch(1, 1, key));
  EXPECT_FALSE(worth_measuring(launch(1, 1, 99), kernel_));
  EXPECT_FALSE(is_hopeless(launch(1, 1, 99), kernel_));
}

TEST_F(Knowledge, GivingUpForgetsNothing) {
  learn(launch(1, 1, 1), kOne);
  give_up(launch(1, 1, 1));
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), kOne);
}

TEST_F(Knowledge, KernelsThatAreLateTwiceAreNotTriedAgain) {
  EXPECT_FALSE(is_known_to_wait(kernel_));
  count_late(kernel_);
  EXPECT_TRUE(is_known_to_wait(kernel_));
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_)) << "it may have been a slow one";
  EXPECT_FALSE(is_hopeless(launch(1, 1, 1), kernel_));
  count_late(kernel_);
  EXPECT_FALSE(worth_measuring(launch(1, 1, 1), kernel_));
  EXPECT_TRUE(is_hopeless(launch(1, 1, 1), kernel_)) << "nor if the judge asks";
  EXPECT_FALSE(is_hopeless(launch(1, 1, 1), other_kernel_));
  EXPECT_FALSE(is_known_to_wait(other_kernel_));
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), other_kernel_));
}

TEST_F(Knowledge, TheFirstOfAKeyIsFirstOnce) {
  EXPECT_TRUE(first_of_key(launch(1, 1, 1)));
  EXPECT_FALSE(first_of_key(launch(1, 1, 1)));
  EXPECT_TRUE(first_of_key(launch(1, 1, 2)));
  // Also of one that was measured, or given up, before.
  give_up(launch(1, 1, 3));
  learn(launch(1, 1, 4), kOne);
  EXPECT_TRUE(first_of_key(launch(1, 1, 3)));
  EXPECT_TRUE(first_of_key(launch(1, 1, 4)));
  EXPECT_FALSE(first_of_key(launch(1, 1, 3)));
  EXPECT_FALSE(first_of_key(launch(1, 1, 4)));
  // It changes nothing else.
  EXPECT_TRUE(is_hopeless(launch(1, 1, 3), kernel_));
  EXPECT_EQ(learned_footprint(launch(1, 1, 4)), kOne);
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_));
  learn(launch(1, 1, 1), kOne);
  EXPECT_FALSE(first_of_key(launch(1, 1, 1))) << "and is not forgotten when there is a result";
}

TEST_F(Knowledge, ManyKeysAreEachFirstOnce) {
  constexpr std::uint64_t kKeys = 5'000;  // more than are kept where it is looked first
  for (int time = 0; time < 3; ++time) {
    for (std::uint64_t key = 10; key < kKeys; ++key) {
      ASSERT_EQ(first_of_key(launch(1, 1, key)), time == 0) << key;
      ASSERT_FALSE(first_of_key(launch(1, 1, key))) << key;
    }
  }
}

TEST_F(Knowledge, TheFirstOfAKeyIsFirstAlsoBesideOthers) {
  // What another thread learns of the key in between must not take the answer away for good.
  constexpr std::uint64_t kKeys = 20'000;
  std::atomic<std::uint64_t> at{10};
  std::thread other([&] {
    for (std::uint64_t key = 0; key < kKeys; key = at.load()) give_up(launch(1, 1, key));
  });
  std::uint64_t lost = 0;
  for (std::uint64_t key = 10; key < kKeys; at.store(++key)) {
    bool first = false;
    for (int time = 0; time < 4; ++time) first |= first_of_key(launch(1, 1, key));
    lost += !first;
  }
  other.join();
  EXPECT_EQ(lost, 0u);
}

TEST_F(Knowledge, TheFirstOfAKeyIsOneThread) {
  constexpr std::uint64_t kKeys = 20'000;
  constexpr int kThreads = 4;
  std::atomic<unsigned> first{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; key < kKeys; ++key) first += first_of_key(launch(1, 1, key));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first, kKeys);
}

TEST_F(Knowledge, TablesThatAreFullCostPrecisionOnly) {
  // More keys than there is room for.
  constexpr std::uint64_t kKeys = 400'000;
  unsigned known = 0;
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    learn(launch(key % 500, key % 1000, key), static_cast<std::uint32_t>(key % 500 + 1));
  }
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    const std::uint32_t footprint = learned_footprint(launch(key % 500, key % 1000, key));
    known += footprint != 0;
    ASSERT_TRUE(footprint == 0 || footprint == key % 500 + 1) << "that of another";
  }
  EXPECT_GT(known, 0u);
}

TEST_F(Knowledge, IsForgottenInAChild) {
  learn(launch(1, 1, 1), kOne);
  give_up(launch(1, 1, 2));
  count_late(kernel_);
  first_of_key(launch(1, 1, 1));
  in_child::knowledge();
  EXPECT_EQ(learned_footprint(launch(1, 1, 1)), 0u);
  EXPECT_FALSE(is_hopeless(launch(1, 1, 2), kernel_));
  EXPECT_FALSE(is_known_to_wait(kernel_));
  EXPECT_TRUE(first_of_key(launch(1, 1, 1)));
  EXPECT_TRUE(worth_measuring(launch(1, 1, 1), kernel_));
}

TEST_F(Knowledge, ALaunchMeasuredTwiceIsSettled) {
  const LaunchHashes repeated = launch(1, 1, 1);
  learn(repeated, kOne);
  note_settled(repeated);
  EXPECT_EQ(settled_footprint(repeated), 0u);
  learn(repeated, kOne);
  EXPECT_EQ(settled_footprint(repeated), 0u);  // nobody has said so yet
  note_settled(repeated);
  EXPECT_EQ(settled_footprint(repeated), kOne);
  EXPECT_EQ(settled_footprint(launch(1, 1, 2)), 0u);
}

TEST_F(Knowledge, OneThatVariesIsNeverSettled) {
  const LaunchHashes varying = launch(1, 1, 1);
  learn(varying, kOne);
  learn(varying, kOther);
  learn(varying, kOther);
  note_settled(varying);
  EXPECT_EQ(settled_footprint(varying), 0u);
}

TEST_F(Knowledge, NewScalarsOnSettledBuffersAreSettled) {
  for (std::uint64_t scalars = 1; scalars <= 4; ++scalars) learn(launch_on(5, scalars), kOne);
  const LaunchHashes next = launch_on(5, 99);
  ASSERT_EQ(learned_footprint(next), kOne);
  note_settled(next);
  EXPECT_EQ(settled_footprint(launch_on(5, 100)), kOne);
  EXPECT_EQ(settled_footprint(launch_on(6, 100)), 0u);
}

TEST_F(Knowledge, WhateverIsLearnedUnsettles) {
  const LaunchHashes repeated = launch(1, 1, 1);
  learn(repeated, kOne);
  learn(repeated, kOne);
  note_settled(repeated);
  ASSERT_EQ(settled_footprint(repeated), kOne);
  learn(repeated, kOther);
  EXPECT_EQ(settled_footprint(repeated), 0u);
  note_settled(repeated);
  EXPECT_EQ(settled_footprint(repeated), 0u);
}

}  // namespace
}  // namespace streamsan::recorder
