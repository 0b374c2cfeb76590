// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of pools that tell neither a stream nor that the host has waited: nothing is checked when they begin or end,
// and every access is checked against earlier lives of its bytes.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class BlocksWithoutStream : public ModelTest {
 protected:
  StreamId s = non_blocking();
  StreamId t = non_blocking();
  Address pool = memory();

  void begin(Address base, Bytes size = kMemory) { model.block_allocate_without_stream(call(), {base, base + size}); }
  SiteId end(Address base) {
    const Call free = call();
    model.block_free_without_stream(free, base);
    return free.site;
  }
};

TEST_F(BlocksWithoutStream, TheSameStreamGoesOnWithoutWaiting) {
  begin(pool);
  write(s, pool);
  end(pool);
  begin(pool);
  write(s, pool);
  end(pool);
  EXPECT_TRUE(silent());
}

TEST_F(BlocksWithoutStream, AnotherStreamReusesTooEarly) {
  begin(pool);
  const OpId earlier = write(s, pool);
  const SiteId freed = end(pool);
  begin(pool);
  EXPECT_TRUE(silent()) << "the block is not used yet";
  const OpId later = write(t, pool);
  ASSERT_EQ(recorder.hazards.size(), 1u);
  const Hazard hazard = recorder.hazards[0];
  EXPECT_EQ(hazard.earlier.op, earlier);
  EXPECT_EQ(hazard.later.op, later);
  EXPECT_EQ(hazard.freed, freed);
  EXPECT_TRUE(hazard.allocation.block);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
  write(t, pool);
  EXPECT_TRUE(silent()) << "once is enough";
}

/// The summary of the block's own past is asked first, as for any other memory.
TEST_F(BlocksWithoutStream, AtomicsDoNotRaceWithEachOther) {
  begin(pool);
  write(s, pool);
  end(pool);
  edge(s, t);
  begin(pool);
  kernel(s, 1, pool, AccessMode::Atomic);
  kernel(t, 2, pool, AccessMode::Atomic);
  EXPECT_TRUE(silent());
  kernel(t, 3, pool, AccessMode::Read);
  EXPECT_EQ(recorder.hazards.size(), 1u);
}

TEST_F(BlocksWithoutStream, AnotherStreamThatHasWaitedIsSilent) {
  begin(pool);
  write(s, pool);
  end(pool);
  edge(s, t);
  begin(pool);
  write(t, pool);
  EXPECT_TRUE(silent());
}

TEST_F(BlocksWithoutStream, TheWaitMayComeAfterTheBlockBegins) {
  begin(pool);
  write(s, pool);
  end(pool);
  begin(pool);
  edge(s, t);
  write(t, pool);
  EXPECT_TRUE(silent());
}

TEST_F(BlocksWithoutStream, WhatTheHostHasWaitedForIsOver) {
  begin(pool);
  write(s, pool);
  end(pool);
  sync_stream(s);
  begin(pool);
  write(t, pool);
  EXPECT_TRUE(silent());
}

TEST_F(BlocksWithoutStream, TwoStreamsMayBeginAndEndWithIt) {
  begin(pool);
  write(s, pool);
  write(t, pool + 1024);
  end(pool);
  EXPECT_TRUE(silent());
  begin(pool);
  write(s, pool);
  write(t, pool);
  EXPECT_FALSE(silent()) << "within one life the bytes must not meet";
}

TEST_F(BlocksWithoutStream, OnlyBytesThatMeetAreReported) {
  begin(pool);
  write(s, pool);
  read(s, pool + 1024);
  end(pool);
  begin(pool);
  write(t, pool + 2048);
  read(t, pool + 1024);
  EXPECT_TRUE(silent());
  write(t, pool + 1024);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(BlocksWithoutStream, ALaterLifeMayBeCutOtherwise) {
  begin(pool, 1024);
  write(s, pool);
  end(pool);
  begin(pool + 1024, 1024);
  write(s, pool + 1024);
  end(pool + 1024);
  begin(pool, 2048);
  write(s, pool);
  EXPECT_TRUE(silent());
  write(t, pool + 1024);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(BlocksWithoutStream, AKernelReachesNoFurtherThanItsBlock) {
  begin(pool, 1024);
  begin(pool + 1024, 1024);
  kernel(s, 1, pool, AccessMode::Write);
  kernel(t, 2, pool + 1024, AccessMode::Write);
  EXPECT_TRUE(silent());
}

TEST_F(BlocksWithoutStream, AKernelInALargerLifeOnlyPerhapsReachesAnEarlierOne) {
  begin(pool + 2048, kAccess);
  write(s, pool + 2048);
  end(pool + 2048);
  begin(pool);
  kernel(t, 1, pool, AccessMode::Write);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
  // A possible one does not stand for what is certain.
  write(t, pool + 2048);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(BlocksWithoutStream, AFreeThatTellsNoStreamIsInTheStreamOfTheBlock) {
  model.block_allocate(call(), s, {pool, pool + kMemory});
  write(t, pool);
  end(pool);
  EXPECT_TRUE(one(HazardKind::ReleaseWhileInUse));
  model.block_allocate(call(), s, {pool + 4096 - kAccess, pool + kMemory});
  write(s, pool + 4096 - kAccess);
  end(pool + 4096 - kAccess);
  EXPECT_TRUE(silent());
}

TEST_F(BlocksWithoutStream, AStreamThatIsStatedIsCheckedAtOnce) {
  begin(pool);
  write(s, pool);
  end(pool);
  model.block_allocate(call(), t, {pool, pool + kMemory});
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(BlocksWithoutStream, IsFoundByItsFirstAddressWhileItLives) {
  begin(pool + 1024, 1024);
  ASSERT_NE(model.find_block(pool + 1024), nullptr);
  EXPECT_EQ(model.find_block(pool + 1024)->range.end, pool + 2048);
  EXPECT_EQ(model.find_block(pool), nullptr);
  EXPECT_EQ(model.find_block(pool + 1025), nullptr);
  end(pool + 1024);
  EXPECT_EQ(model.find_block(pool + 1024), nullptr);
}

}  // namespace
}  // namespace streamsan::ordering::testing
