// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-ANN: blocks that a pool of the program hands out and takes back.
#include "ordering/retired_blocks.h"
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Blocks : public ModelTest {
 protected:
  static constexpr Bytes kBlock = 512;
  StreamId s = non_blocking();
  StreamId t = non_blocking();
  Address pool = memory();

  AllocationId take(Address base, std::optional<StreamId> stream, Bytes size = kBlock) {
    return model.block_allocate(call(), stream, {base, base + size});
  }
  void give(Address base, std::optional<StreamId> stream) { model.block_free(call(), stream, base); }
};

// ---- handed out again
// ------------------------------------------------------------------------------------------------

TEST_F(Blocks, R_ANN_01_ReuseInAStreamThatIsNotAfterTheLastUse) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  EXPECT_TRUE(silent());
  take(pool, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, R_ANN_01_ReuseInTheSameStream) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  take(pool, s);
  write(s, pool);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_01_ReuseAfterAnEvent) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  edge(s, t);
  take(pool, t);
  write(t, pool);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_01_ReuseAfterAnEventThatWasRecordedTooEarly) {
  take(pool, s);
  edge(s, t);
  write(s, pool);
  give(pool, s);
  take(pool, t);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::ReuseWhileInUse);
  EXPECT_EQ(hazards[0].explanation.nearest, NearestEdge::EventRecordedTooEarly);
}

TEST_F(Blocks, R_ANN_01_ReuseByEverybody) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  take(pool, std::nullopt);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
  give(pool, s);
  sync_stream(s);
  take(pool, std::nullopt);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_01_TheReportNamesTheEarlierLife) {
  const AllocationId life = take(pool, s, 1024);
  const std::uint32_t taken = site;
  const OpId use = write(s, pool + 256);
  give(pool, s);
  const std::uint32_t given = site;
  take(pool + 256, t, 128);
  const std::uint32_t again = site;
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].allocation.id, life);
  EXPECT_EQ(hazards[0].allocation.site, SiteId{taken});
  EXPECT_TRUE(hazards[0].allocation.block);
  EXPECT_EQ(hazards[0].freed, SiteId{given});
  EXPECT_EQ(hazards[0].earlier.op, use);
  EXPECT_EQ(hazards[0].later.source, AccessSource::Allocate);
  EXPECT_EQ(hazards[0].later.site, SiteId{again});
  EXPECT_EQ(hazards[0].later.stream, t);
  EXPECT_TRUE(hazards[0].later.on_stream);
  EXPECT_EQ(hazards[0].overlap, (Range{pool + 256, pool + 384}));
}

TEST_F(Blocks, R_ANN_01_OtherBytesOfTheEarlierLife) {
  take(pool, s, 1024);
  write(s, pool);
  give(pool, s);
  take(pool + 512, t);
  EXPECT_TRUE(silent());
  take(pool, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, R_ANN_01_AnInferredUseReachesTheEndOfItsBlockOnly) {
  take(pool, s, 1024);
  take(pool + 1024, s, 1024);
  kernel(s, 1, pool + 512);
  give(pool, s);
  give(pool + 1024, s);
  take(pool + 1024, t, 1024);
  EXPECT_TRUE(silent());
  take(pool, t, 1024);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, R_ANN_01_TheLifeBeforeTheLastOne) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  take(pool, s);
  give(pool, s);
  take(pool, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse)) << "the life in between used nothing";
}

TEST_F(Blocks, R_ANN_01_OneReportForAllLivesOfALane) {
  for (int i = 0; i < 3; ++i) {
    take(pool, s);
    write(s, pool);
    give(pool, s);
  }
  take(pool, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, R_ANN_01_DeclaredStreamsAreThePoolsBusiness) {
  take(pool, s);
  write(s, pool);
  edge(s, t);
  read(t, pool);
  model.block_use(call(), t, pool);
  give(pool, s);
  take(pool, s);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_01_WhatADeclaredStreamHasWaitedForIsCoveredToo) {
  const StreamId u = non_blocking();
  take(pool, s);
  read(u, pool);
  edge(u, t);
  read(t, pool);
  model.block_use(call(), t, pool);
  model.destroy_stream(t);
  give(pool, s);
  take(pool, s);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_01_ADeclaredStreamDoesNotCoverOthers) {
  const StreamId u = non_blocking();
  take(pool, s);
  read(t, pool);
  model.block_use(call(), t, pool);
  read(u, pool);
  give(pool, s);
  EXPECT_TRUE(one(HazardKind::ReleaseWhileInUse));
  take(pool, s);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, R_ANN_01_ADeclarationIsForOneLife) {
  take(pool, s);
  model.block_use(call(), t, pool);
  give(pool, s);
  take(pool, s);
  edge(s, t);
  read(t, pool);
  give(pool, s);
  EXPECT_TRUE(one(HazardKind::ReleaseWhileInUse));
  take(pool, s);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, R_ANN_01_AnAssumedOrderIsLatent) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  free(memory());
  take(pool, std::nullopt);
  EXPECT_TRUE(one_latent(HazardKind::ReuseWhileInUse, Rule::ALC_02));
}

TEST_F(Blocks, R_ANN_01_ALiveBlockThatIsTakenOverLeavesNothing) {
  take(pool, s);
  write(s, pool);
  take(pool + 256, t);
  write(t, pool + 256);
  give(pool, s);
  EXPECT_TRUE(silent());
  EXPECT_EQ(model.find_block(pool), nullptr);
  EXPECT_NE(model.find_block(pool + 256), nullptr);
}

// ---- given back
// ------------------------------------------------------------------------------------------------------

TEST_F(Blocks, R_ANN_02_GivenBackWhileAnotherStreamUsesIt) {
  take(pool, s);
  write(s, pool);
  edge(s, t);
  read(t, pool);
  give(pool, s);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::ReleaseWhileInUse);
  EXPECT_EQ(hazards[0].earlier.stream, t);
  EXPECT_EQ(hazards[0].later.source, AccessSource::Free);
  EXPECT_EQ(hazards[0].later.stream, s);
}

TEST_F(Blocks, R_ANN_02_GivenBackAfterAJoin) {
  take(pool, s);
  write(s, pool);
  edge(s, t);
  read(t, pool);
  edge(t, s);
  give(pool, s);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_02_GivenBackForUseAtOnce) {
  take(pool, s);
  kernel(s, 1, pool + 8);
  give(pool, std::nullopt);
  EXPECT_TRUE(one(HazardKind::ReleaseWhileInUse)) << "a pointer is enough";
  take(pool, s);
  kernel(s, 1, pool + 8);
  sync_stream(s);
  give(pool, std::nullopt);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_ANN_02_NoBlockBeginsThere) {
  take(pool, s);
  write(s, pool);
  give(pool + 8, std::nullopt);
  give(pool + 2048, std::nullopt);
  model.block_use(call(), t, pool + 8);
  EXPECT_TRUE(silent());
  EXPECT_NE(model.find_block(pool), nullptr);
}

// ---- carved out
// ------------------------------------------------------------------------------------------------------

TEST_F(Blocks, TwoBlocksOfOnePoolAreTwoAllocations) {
  take(pool, s);
  take(pool + kBlock, t);
  kernel(s, 1, pool, AccessMode::Write);
  kernel(t, 2, pool + kBlock, AccessMode::Write);
  EXPECT_TRUE(silent());
  kernel(t, 2, pool, AccessMode::Write);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Blocks, WithoutBlocksThePoolIsOneAllocation) {
  kernel(s, 1, pool, AccessMode::Write);
  kernel(t, 2, pool + kBlock, AccessMode::Write);
  EXPECT_FALSE(silent());
}

TEST_F(Blocks, ACopyOverSeveralBlocksTouchesEach) {
  const AllocationId a = take(pool, s);
  const AllocationId b = take(pool + 1024, s);
  write(s, pool);
  write(s, pool + 512);
  write(s, pool + 1024);
  copy(t, bytes(pool, 2048), array(), Form::Asynchronous);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 3u);
  EXPECT_FALSE(hazards[0].allocation.block) << "the pool itself, between the blocks";
  EXPECT_EQ(hazards[0].overlap, (Range{pool + 512, pool + 768}));
  EXPECT_EQ(hazards[1].allocation.id, a);
  EXPECT_EQ(hazards[2].allocation.id, b);
}

TEST_F(Blocks, RowsOverSeveralBlocksMakeOneHazardForEach) {
  take(pool, s);
  take(pool + 512, s);
  copy(s, bytes(pool, 1024), array(), Form::Asynchronous);
  copy(t, {.base = pool, .width = 64, .pitch = 128, .rows = 8}, {.base = 0, .width = 64, .pitch = 64, .rows = 8},
       Form::Asynchronous);
  EXPECT_EQ(found().size(), 2u);
}

TEST_F(Blocks, ABlockStartsEmpty) {
  write(s, pool);
  take(pool, t);
  write(t, pool);
  EXPECT_TRUE(silent()) << "what was done to the pool is not compared with what is done to the block";
}

TEST_F(Blocks, TheKindIsThePools) {
  const Address pinned = memory(MemoryKind::Pinned);
  take(pinned, s);
  copy(s, bytes(pinned), bytes(pool), Form::Synchronous);
  write(t, pinned);
  EXPECT_TRUE(silent()) << "R-CPY-03";
  EXPECT_EQ(model.find_allocation(pinned)->block, false);
}

TEST_F(Blocks, FreeOfThePoolChecksItsBlocks) {
  take(pool, s);
  write(s, pool);
  free(pool);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::FreeWhileInUse);
  EXPECT_EQ(hazards[0].leaned_on, Rule::ALC_02);
  EXPECT_TRUE(hazards[0].allocation.block);
  EXPECT_EQ(model.find_block(pool), nullptr);
}

TEST_F(Blocks, FreeOfThePoolChecksEarlierLives) {
  take(pool, s);
  write(s, pool);
  give(pool, s);
  free(pool);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::ALC_02));
  model.allocate(call(), {pool, pool + kMemory}, MemoryKind::Device);
  take(pool, t);
  EXPECT_TRUE(silent()) << "R-SOA-08";
}

TEST_F(Blocks, FreeOfThePoolAfterSynchronisation) {
  take(pool, s);
  take(pool + 512, s);
  write(s, pool);
  write(s, pool + 512);
  give(pool, s);
  sync_stream(s);
  free(pool);
  EXPECT_TRUE(silent());
  EXPECT_EQ(model.statistics().live_allocations, 0u);
  EXPECT_EQ(model.statistics().shadow_entries, 0u);
}

TEST_F(Blocks, OfMemoryThatTheModelDoesNotKnow) {
  const Address unknown = 0x6666'0000'0000;
  take(unknown, s);
  kernel(s, 1, unknown, AccessMode::Write);
  give(unknown, s);
  take(unknown, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
  sync_stream(s);
  take(unknown, s);
  kernel(s, 1, unknown, AccessMode::Write);
  give(unknown, s);
  take(unknown, s);
  EXPECT_TRUE(silent());
}

TEST_F(Blocks, R_CPY_13_OfPageableMemoryUnderACopyAreLatent) {
  const Address heap = 0x6666'0000'0000;
  take(heap, s);
  copy(s, bytes(pool), bytes(heap), Form::Asynchronous);
  give(heap, s);
  take(heap, std::nullopt);
  EXPECT_TRUE(one_latent(HazardKind::ReuseWhileInUse, Rule::CPY_13));
  take(heap + 4096, s);
  copy(s, bytes(pool), bytes(heap + 4096), Form::Synchronous);
  give(heap + 4096, std::nullopt);
  take(heap + 4096, std::nullopt);
  EXPECT_TRUE(silent()) << "R-CPY-01: done with its source";
}

// ---- bounds
// ----------------------------------------------------------------------------------------------------------

TEST_F(Blocks, LivesThatTheHostKnowsToBeCompleteLeaveNothing) {
  for (int i = 0; i < 100; ++i) {
    take(pool, s);
    write(s, pool);
    give(pool, s);
  }
  EXPECT_GE(model.statistics().shadow_entries, 1u);
  sync_stream(s);
  take(pool, s);
  EXPECT_EQ(model.statistics().shadow_entries, 0u);
}

TEST_F(Blocks, ALaterLifeStandsForAnEarlierOneOfTheSameBytes) {
  const auto live = [&](Address use) {
    take(pool, s);
    copy(s, bytes(use, kBlock), array(), Form::Asynchronous);
    give(pool, s);
  };
  for (int i = 0; i < 100; ++i) live(pool);
  EXPECT_EQ(model.statistics().shadow_entries, 1u);
  live(pool + 8);
  EXPECT_EQ(model.statistics().shadow_entries, 2u + 1u) << "not all bytes, and some of the pool";
  take(pool, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

TEST_F(Blocks, ALaterLifeInAnotherLaneStandsForNothing) {
  const StreamId u = non_blocking();
  for (const StreamId stream : {s, t}) {
    take(pool, stream);
    copy(stream, bytes(pool, kBlock), array(), Form::Asynchronous);
    give(pool, stream);
  }
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
  edge(t, u);
  take(pool, u);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].earlier.stream, s) << "the life before the last";
}

TEST_F(Blocks, OnlySoManyLivesAreRemembered) {
  const Address large = 0x5000'0000;
  model.allocate(call(), {large, large + (64u << 20)}, MemoryKind::Device);
  const std::size_t lives = RetiredBlocks::kMostLives * 3;
  for (std::size_t i = 0; i < lives; ++i) {
    take(large + i * kBlock, s);
    write(s, large + i * kBlock);
    give(large + i * kBlock, s);
  }
  EXPECT_LE(model.statistics().shadow_entries, RetiredBlocks::kMostLives);
  take(large, t);
  EXPECT_TRUE(silent());
  take(large + (lives - 1) * kBlock, t);
  EXPECT_TRUE(one(HazardKind::ReuseWhileInUse));
}

}  // namespace
}  // namespace streamsan::ordering::testing
