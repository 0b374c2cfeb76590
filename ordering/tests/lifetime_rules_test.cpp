// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-SOA-04: memory after its free. Every use that is found has twins that must stay silent: before the free, after the
// address was given out again, and where nothing says that the memory is touched.
#include "ordering/freed_lives.h"
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class AfterFree : public ModelTest {
 protected:
  StreamId s = non_blocking();
  StreamId t = non_blocking();

  Address freed_async() {
    const Address a = async_memory(s);
    model.free_async(call(), s, a);
    return a;
  }
  OpId known(StreamId stream, Address base, bool learned = false, bool widened = false) {
    const KernelBytes piece{bytes(base), AccessMode::Read, widened};
    return model.launch(call(), stream, {.function = FunctionId{1}, .threads = 64, .learned = learned}, {},
                        {&piece, 1});
  }
  bool possible_use() {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].kind == HazardKind::UseAfterFree &&
           hazards[0].certainty == Certainty::Possible;
  }
};

TEST_F(AfterFree, R_SOA_04_EveryExactUseInWhateverStream) {
  const Address a = freed_async();
  write(s, a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree)) << "in order after the free, and wrong";
  read(t, a + 64);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
  known(t, a + 128);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

TEST_F(AfterFree, R_SOA_04_UsesBeforeTheFreeAreSilent) {
  const Address a = async_memory(s);
  write(s, a);
  known(s, a);
  model.free_async(call(), s, a);
  write(s, memory());
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, R_SOA_04_ASynchronisationDoesNotHelp) {
  const Address a = freed_async();
  sync_context();
  write(s, a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

TEST_F(AfterFree, R_SOA_04_TheReportNamesTheFree) {
  const Address a = async_memory(s);
  const std::uint32_t allocated = site;
  const OpId free = model.free_async(call(), s, a);
  const std::uint32_t freed_at = site;
  const OpId use = write(t, a + 4000);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].freed, SiteId{freed_at});
  EXPECT_EQ(hazards[0].earlier.op, free);
  EXPECT_EQ(hazards[0].earlier.source, AccessSource::Free);
  EXPECT_EQ(hazards[0].earlier.stream, s);
  EXPECT_EQ(hazards[0].later.op, use);
  EXPECT_EQ(hazards[0].allocation.site, SiteId{allocated});
  EXPECT_EQ(hazards[0].overlap, (Range{a + 4000, a + kMemory}));
}

TEST_F(AfterFree, R_SOA_04_AStalePointerOfAKernelIsPossible) {
  const Address a = freed_async();
  kernel(s, 1, a, AccessMode::Write);
  EXPECT_TRUE(possible_use());
  kernel(s, 1, a + 8, AccessMode::Unknown);
  EXPECT_TRUE(possible_use());
}

TEST_F(AfterFree, R_SOA_04_ADoubtfulPointerIsNothing) {
  const Address a = freed_async();
  kernel(s, 1, a, AccessMode::Doubtful);
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, R_SOA_04_WhatAnEarlierLaunchDidIsPossible) {
  const Address a = freed_async();
  known(s, a, true);
  EXPECT_TRUE(possible_use());
  known(s, a, false, true);
  EXPECT_TRUE(possible_use());
}

TEST_F(AfterFree, R_SOA_04_OneReportForAKernelOfManyPieces) {
  const Address a = freed_async();
  const KernelBytes pieces[] = {{bytes(a), AccessMode::Read}, {bytes(a + 512), AccessMode::Write}};
  model.launch(call(), s, {.function = FunctionId{1}, .threads = 64}, {}, pieces);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

TEST_F(AfterFree, R_SOA_08_AnAddressThatWasGivenOutAgainIsAlive) {
  const Address a = freed_async();
  model.allocate_async(call(), s, {a, a + 512});
  write(s, a);
  write(s, a + 1024);
  EXPECT_TRUE(silent()) << "nor is the rest of the old range reported";
  const Address b = freed_async();
  model.allocate(call(), {b - 64, b + 64}, MemoryKind::Device);
  write(s, b + 512);
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, R_SOA_08_WhatTheModelDoesNotSee) {
  const Address a = freed_async();
  model.forget_freed({a + 1, a + 2});
  write(s, a);
  EXPECT_TRUE(silent());
  const Address b = freed_async();
  model.forget_freed({b - 64, b});
  write(s, b);
  EXPECT_TRUE(one(HazardKind::UseAfterFree)) << "that was beside it";
}

TEST_F(AfterFree, R_SOA_04_OrdinaryMemory) {
  const Address a = memory();
  free(a);
  known(s, a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree)) << "a launch does not check its pointers";
  kernel(s, 1, a, AccessMode::Write);
  EXPECT_TRUE(possible_use());
  write(s, a);
  EXPECT_TRUE(possible_use()) << "a fill does, and this one succeeded";
  read(s, a);
  EXPECT_TRUE(possible_use());
}

TEST_F(AfterFree, R_SOA_04_AFreeThatFailedFreedNothing) {
  const Address a = memory();
  free(a, false);
  known(s, a);
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, R_SOA_04_WorkSubmittedWhileTheFreeRuns) {
  const Address a = memory();
  model.free(call(), kContext, a);
  known(s, a);
  EXPECT_TRUE(silent()) << "by another thread";
  model.returned(kMain, true);
  known(s, a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

TEST_F(AfterFree, R_SOA_04_MemoryGivenOutAgainWhileTheFreeReturns) {
  const Address a = memory();
  model.free(call(), kContext, a);
  model.allocate(call(kWorker), {a, a + kMemory}, MemoryKind::Device);
  model.returned(kMain, true);
  free(a);
  EXPECT_TRUE(silent());
  known(s, a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree)) << "freed by now";
}

TEST_F(AfterFree, R_SOA_04_OnlyDeviceMemory) {
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Registered, MemoryKind::Managed}) {
    const Address a = memory(kind);
    free(a);
    known(s, a);
    free(a);
    EXPECT_TRUE(silent()) << static_cast<int>(kind) << ": the address goes back to the host";
  }
  const Address mapped = memory();
  model.unmap(call(), kContext, {mapped, mapped + kMemory});
  model.returned(kMain, true);
  known(s, mapped);
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, R_SOA_04_TheHostUsesTheAddress) {
  const Address a = memory();
  free(a);
  model.host_access(call(), {a, a + 1}, AccessMode::Write);
  known(s, a);
  EXPECT_TRUE(silent());
  const Address b = memory();
  free(b);
  model.host_free(call(), {b, b + 64});
  known(s, b);
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, R_SOA_04_ASecondFree) {
  const Address a = freed_async();
  model.free_async(call(), t, a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
  free(a);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

TEST_F(AfterFree, R_SOA_04_ASecondFreeThatFailed) {
  const Address a = freed_async();
  free(a, false);
  model.free_async(call(), s, a + 8);
  free(a + 8);
  EXPECT_TRUE(silent()) << "nor is a free of a place inside one";
}

TEST_F(AfterFree, R_SOA_04_ASecondFreeOfOrdinaryMemoryIsPossible) {
  const Address a = memory();
  free(a);
  free(a);
  EXPECT_TRUE(possible_use()) << "the driver took it for memory that is allocated";
}

TEST_F(AfterFree, R_SOA_04_TheNextCallForgetsAFreeThatNeverReturned) {
  const Address a = freed_async();
  model.free(call(), kContext, a);
  model.sync_stream(call(), s);
  model.returned(kMain, true);
  EXPECT_TRUE(silent());
}

TEST_F(AfterFree, OnlySoManyFreesAreRemembered) {
  std::vector<Address> all;
  for (std::size_t i = 0; i < FreedLives::kMostLives * 2; ++i) all.push_back(freed_async());
  write(s, all.front());
  EXPECT_TRUE(silent());
  write(s, all.back());
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
  write(s, all[all.size() - FreedLives::kMostLives / 2]);
  EXPECT_TRUE(one(HazardKind::UseAfterFree));
}

}  // namespace
}  // namespace streamsan::ordering::testing
