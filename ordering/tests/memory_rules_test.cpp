// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-ALC, R-SOA, R-VMM: the life of allocations.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Memory : public ModelTest {
 protected:
  StreamId s = non_blocking();
  StreamId t = non_blocking();

  void free_async(StreamId stream, Address base) { model.free_async(call(), stream, base); }
};

TEST_F(Memory, R_ALC_01_UsableByEveryStreamAtOnce) {
  write(s, memory());
  write(t, memory());
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_ALC_02_FreeWithoutSynchronisationIsLatent) {
  const Address a = memory();
  write(s, a);
  free(a);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::ALC_02));
}

TEST_F(Memory, R_ALC_02_FreeAfterSynchronisationIsSilent) {
  const Address a = memory();
  write(s, a);
  sync_stream(s);
  free(a);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_ALC_02_WorkOfAnotherContextIsNotWaitedFor) {
  const Address a = memory();
  write(model.create_stream(kOtherContext, StreamKind::Blocking), a);
  free(a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Memory, R_ALC_02_WhatTheFreeWaitedForIsAssumedKnown) {
  const Address a = memory();
  const Address b = memory();
  write(s, a);
  free(b);
  EXPECT_TRUE(silent());
  write(t, a);
  EXPECT_TRUE(one_latent(HazardKind::WriteAfterWrite, Rule::ALC_02));
}

TEST_F(Memory, R_ALC_02_AFailedFreeWaitedForNothing) {
  const Address a = memory();
  const Address b = memory();
  write(s, a);
  free(b, false);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Memory, R_ALC_02_AnEarlierAssumptionIsNamedFirst) {
  const Address a = memory();
  copy(s, pageable(), bytes(a), Form::Asynchronous);
  free(a);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_14));
}

TEST_F(Memory, R_ALC_03_FreeOfStreamOrderedMemoryDoesNotWait) {
  const Address a = async_memory(s);
  write(s, a);
  free(a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Memory, R_ALC_03_SilentAfterSynchronisation) {
  const Address a = async_memory(s);
  write(s, a);
  sync_stream(s);
  free(a);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_ALC_05_HostMemoryIsFreedLikeDeviceMemory) {
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Registered, MemoryKind::Array}) {
    const Address a = memory(kind);
    write(s, a);
    free(a);
    EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::ALC_05));
  }
}

TEST_F(Memory, R_ALC_05_SilentAfterSynchronisation) {
  const Address a = memory(MemoryKind::Pinned);
  write(s, a);
  sync_context();
  free(a);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_ALC_08_ReadsCountAsUses) {
  const Address a = memory();
  read(s, a);
  free(a);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::ALC_02));
}

TEST_F(Memory, R_ALC_08_InferredUsesOfAFreedAllocationAreCertain) {
  const Address a = async_memory(s);
  kernel(s, 1, a + 1024, AccessMode::Read);
  free(a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Memory, R_SOA_01_OtherStreamMustWaitForTheAllocation) {
  const Address a = async_memory(s);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::UseBeforeAllocate));
}

TEST_F(Memory, R_SOA_01_WithAnEventItIsSilent) {
  const Address a = async_memory(s);
  edge(s, t);
  write(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_SOA_01_KernelsToo) {
  const Address a = async_memory(s);
  kernel(t, 1, a, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::UseBeforeAllocate));
  const Address b = async_memory(s);
  kernel(s, 1, b, AccessMode::Read);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_SOA_01_TheAllocatingOperationIsKnown) {
  const Address a = async_memory(s);
  write(t, a);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].earlier.op, hazards[0].allocation.op);
  EXPECT_EQ(hazards[0].allocation.kind, MemoryKind::DeviceAsync);
}

TEST_F(Memory, R_SOA_03_FreeInAnotherStreamMustWait) {
  const Address a = async_memory(s);
  write(s, a);
  free_async(t, a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Memory, R_SOA_03_WithAnEventItIsSilent) {
  const Address a = async_memory(s);
  write(s, a);
  edge(s, t);
  free_async(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_SOA_03_AUseInAThirdStreamIsFound) {
  const Address a = async_memory(s);
  edge(s, t);
  kernel(t, 1, a);
  free_async(s, a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Memory, R_SOA_08_ARecycledAddressIsANewAllocation) {
  const Address a = async_memory(s);
  write(s, a);
  free_async(s, a);
  model.allocate_async(call(), t, {a, a + kMemory});
  write(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, R_SOA_08_ARangeTakenOverEndsTheOldAllocation) {
  const Address a = memory();
  write(s, a);
  model.allocate(call(), {a + 64, a + kMemory}, MemoryKind::Device);  // the free was not seen
  write(t, a + 64);
  EXPECT_TRUE(silent());
  EXPECT_EQ(model.find_allocation(a), nullptr);
  EXPECT_EQ(model.statistics().live_allocations, 1u);
}

TEST_F(Memory, R_VMM_01_UnmapDoesNotWait) {
  const Address a = memory();
  write(s, a);
  model.unmap(call(), kContext, {a, a + kMemory});
  model.returned(kMain, true);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
  EXPECT_EQ(model.find_allocation(a), nullptr);
}

TEST_F(Memory, R_VMM_01_SilentAfterSynchronisation) {
  const Address a = memory();
  write(s, a);
  sync_stream(s);
  model.unmap(call(), kContext, {a - 64, a + kMemory + 64});
  model.returned(kMain, true);
  EXPECT_TRUE(silent());
}

TEST_F(Memory, FindAllocationKnowsTheRange) {
  const Address a = memory(MemoryKind::Managed);
  ASSERT_NE(model.find_allocation(a + kMemory - 1), nullptr);
  EXPECT_EQ(model.find_allocation(a + kMemory - 1)->kind, MemoryKind::Managed);
  EXPECT_EQ(model.find_allocation(a + kMemory), nullptr);
  EXPECT_EQ(model.find_allocation(a - 1), nullptr);
}

TEST_F(Memory, ACopyOverTwoNeighbouringAllocationsTouchesBoth) {
  const Address a = memory();
  const Address b = a + kMemory;
  model.allocate(call(), {b, b + kMemory}, MemoryKind::Device);
  write(s, b);
  copy(t, bytes(a, kMemory + 8), array(), Form::Asynchronous);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Memory, HostAccessAfterWorkInFlight) {
  const Address a = memory(MemoryKind::Managed);
  kernel(s, 1, a, AccessMode::Write);
  model.host_access(call(), {a, a + kMemory}, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  sync_stream(s);
  model.host_access(call(), {a, a + kMemory}, AccessMode::Write);
  kernel(t, 1, a);
  EXPECT_TRUE(silent());
}

TEST_F(SeparateThreads, HostAccessOfAnotherThreadIsUnordered) {
  const Address a = memory(MemoryKind::Managed);
  model.host_access(call(kWorker), {a, a + 64}, AccessMode::Write);
  write(non_blocking(), a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Memory, OneHazardForEachLane) {
  const Address a = memory();
  const StreamId u = non_blocking();
  for (int i = 0; i < 3; ++i) {
    write(s, a + 64 * static_cast<Address>(i));
    read(t, a + 1024);
  }
  copy(u, bytes(a, kMemory), array(), Form::Asynchronous);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 2u);
  EXPECT_EQ(hazards[0].earlier.stream, s);
  EXPECT_EQ(hazards[1].earlier.stream, t);
  EXPECT_EQ(hazards[0].earlier.op, OpId{5}) << "the newest of equals";
}

TEST_F(Memory, TheOverlapIsWhatBothTouch) {
  const Address a = memory();
  write(s, a);
  write(t, a + 200);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].overlap, (Range{a + 200, a + kAccess}));
}

}  // namespace
}  // namespace streamsan::ordering::testing
