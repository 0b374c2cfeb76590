// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host does to memory that the GPU works on: touches, and frees of memory that no CUDA function gave.
#include "ordering/loans.h"
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Host : public ModelTest {
 protected:
  static constexpr Address kHeap = 0x7777'0000'0000;
  StreamId s = non_blocking();
  StreamId t = non_blocking();

  void touch(Address address, AccessMode mode) { model.host_access(call(), {address, address + 1}, mode); }
  void host_free(Address base, Bytes size = kAccess) { model.host_free(call(), {base, base + size}); }
  void upload(StreamId stream, Address device, Form form = Form::Asynchronous) {
    copy(stream, bytes(device), bytes(kHeap), form);
  }
  void download(StreamId stream, Address device, Form form = Form::Asynchronous) {
    copy(stream, bytes(kHeap), bytes(device), form);
  }
};

// ---- touches
// ---------------------------------------------------------------------------------------------------------

TEST_F(Host, ReadsTheDestinationOfACopyTooEarly) {
  const Address a = memory(MemoryKind::Pinned);
  copy(s, bytes(a), array(), Form::Asynchronous);
  touch(a + 255, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  touch(a + 256, AccessMode::Read);
  EXPECT_TRUE(silent()) << "beside it";
  sync_stream(s);
  touch(a, AccessMode::Read);
  EXPECT_TRUE(silent());
}

TEST_F(Host, OverwritesTheSourceOfACopyTooEarly) {
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Registered, MemoryKind::Managed}) {
    const Address a = memory(kind);
    read(s, a);
    touch(a, AccessMode::Read);
    EXPECT_TRUE(silent()) << "both read";
    touch(a, AccessMode::Write);
    EXPECT_TRUE(one(HazardKind::WriteAfterRead));
  }
}

TEST_F(Host, OneByteAgainstAPointerIsPossible) {
  const Address a = memory(MemoryKind::Managed);
  kernel(s, 1, a, AccessMode::Write, 1);
  touch(a, AccessMode::Read);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
  const KernelBytes piece{bytes(a), AccessMode::Write};
  model.launch(call(), s, {.function = FunctionId{1}, .threads = 64}, {}, {&piece, 1});
  touch(a, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite)) << "known bytes are certain";
}

TEST_F(Host, PageableMemoryIsNotTracked) {
  const Address a = memory();
  upload(s, a);
  touch(kHeap, AccessMode::Write);
  download(s, a);
  touch(kHeap, AccessMode::Read);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_HST_06_WhatAHostFunctionMayHaveSignalledIsPossible) {
  const Address a = memory(MemoryKind::Pinned);
  copy(s, bytes(a), array(), Form::Asynchronous);
  model.host_function(call(), s);
  touch(a, AccessMode::Read);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_TRUE(hazards[0].perhaps_signalled);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
}

TEST_F(Host, ExplanationASynchronisationThatCameTooEarly) {
  const Address a = memory(MemoryKind::Pinned);
  model.stream_action(call(), s);
  sync_stream(s);
  copy(s, bytes(a), array(), Form::Asynchronous);
  touch(a, AccessMode::Read);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].explanation.nearest, NearestEdge::SyncTooEarly);
}

TEST_F(Host, ExplanationAnEventThatNobodyWaitedFor) {
  const Address a = memory(MemoryKind::Pinned);
  copy(s, bytes(a), array(), Form::Asynchronous);
  const EventId event = model.create_event();
  const OpId record = model.record_event(call(), s, event);
  touch(a, AccessMode::Read);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].explanation.nearest, NearestEdge::EventNotWaitedFor);
  EXPECT_EQ(hazards[0].explanation.event, event);
  EXPECT_EQ(hazards[0].explanation.record, record);
  sync_event(event);
  touch(a, AccessMode::Read);
  EXPECT_TRUE(silent());
}

TEST_F(Host, ExplanationNothingWasEverWaitedFor) {
  const Address a = memory(MemoryKind::Pinned);
  copy(s, bytes(a), array(), Form::Asynchronous);
  touch(a, AccessMode::Read);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].explanation.nearest, NearestEdge::None);
}

// ---- frees of registered memory
// --------------------------------------------------------------------------------------

TEST_F(Host, R_ALC_08_FreesRegisteredMemoryInUse) {
  const Address a = memory(MemoryKind::Registered);
  read(s, a);
  host_free(a - 16, kMemory + 32);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse)) << "libc does not wait";
  EXPECT_EQ(model.find_allocation(a), nullptr);
  host_free(a - 16, kMemory + 32);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_ALC_08_FreesRegisteredMemoryAfterSynchronisation) {
  const Address a = memory(MemoryKind::Registered);
  read(s, a);
  sync_stream(s);
  host_free(a, kMemory);
  EXPECT_TRUE(silent());
  EXPECT_EQ(model.find_allocation(a), nullptr);
}

TEST_F(Host, R_ALC_08_APartOfRegisteredMemory) {
  const Address a = memory(MemoryKind::Registered);
  read(s, a);
  host_free(a + 1024, 1024);
  EXPECT_TRUE(silent());
  host_free(a, 128);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
  EXPECT_NE(model.find_allocation(a), nullptr) << "the rest lives";
}

TEST_F(Host, R_ALC_08_PinnedMemoryKeepsItsOwnFree) {
  const Address a = memory(MemoryKind::Pinned);
  read(s, a);
  host_free(a, kMemory);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
  EXPECT_NE(model.find_allocation(a), nullptr);
}

TEST_F(Host, R_ALC_08_DeviceMemoryIsNotTheHosts) {
  const Address a = memory();
  write(s, a);
  host_free(a, kMemory);
  EXPECT_TRUE(silent());
}

// ---- pageable memory under a copy
// ------------------------------------------------------------------------------------

TEST_F(Host, R_CPY_13_TheSourceIsFreedTooEarly) {
  const Address a = memory();
  upload(s, a);
  const std::uint32_t copied = site;
  host_free(kHeap + 128, 4096);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::FreeWhileInUse);
  EXPECT_EQ(hazards[0].order, Order::Latent);
  EXPECT_EQ(hazards[0].leaned_on, Rule::CPY_13);
  EXPECT_EQ(hazards[0].certainty, Certainty::Certain);
  EXPECT_EQ(hazards[0].earlier.site, SiteId{copied});
  EXPECT_EQ(hazards[0].earlier.mode, AccessMode::Read);
  EXPECT_EQ(hazards[0].allocation.kind, MemoryKind::Pageable);
  EXPECT_EQ(hazards[0].allocation.range, (Range{kHeap, kHeap + kAccess}));
  EXPECT_EQ(hazards[0].overlap, (Range{kHeap + 128, kHeap + kAccess}));
  EXPECT_FALSE(hazards[0].later.on_stream);
}

TEST_F(Host, R_CPY_13_FreedAfterSynchronisationOrElsewhere) {
  const Address a = memory();
  upload(s, a);
  host_free(kHeap + kAccess);
  host_free(kHeap - 64, 64);
  EXPECT_TRUE(silent());
  sync_stream(s);
  host_free(kHeap);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_CPY_13_ASynchronisationWithAnotherStreamDoesNotHelp) {
  upload(s, memory());
  sync_stream(t);
  host_free(kHeap);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_13));
}

TEST_F(Host, R_CPY_13_AFreeIsReportedOnce) {
  upload(s, memory());
  host_free(kHeap);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_13));
  host_free(kHeap);
  EXPECT_TRUE(silent()) << "other memory at the same address";
}

TEST_F(Host, R_CPY_14_TheDestinationIsFreedTooEarly) {
  download(s, memory());
  host_free(kHeap);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_14));
  download(s, memory());
  sync_stream(s);
  host_free(kHeap);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_CPY_01_SynchronousCopiesBorrowNothing) {
  upload(s, memory(), Form::Synchronous);
  host_free(kHeap);
  EXPECT_TRUE(silent());
  download(s, memory(), Form::Synchronous);
  host_free(kHeap);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_CPY_17_NorDoCopiesInHostMemory) {
  copy(s, bytes(memory(MemoryKind::Pinned)), bytes(kHeap), Form::Asynchronous);
  copy(s, bytes(kHeap), bytes(memory(MemoryKind::Pinned)), Form::Asynchronous);
  host_free(kHeap);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_CPY_13_TheGapsBetweenRowsAreNotBorrowed) {
  const Footprint rows{.base = kHeap, .width = 64, .pitch = 256, .rows = 4};
  copy(s, {.base = memory(), .width = 64, .pitch = 64, .rows = 4}, rows, Form::Asynchronous);
  host_free(kHeap + 64, 192);
  host_free(kHeap + 3 * 256 + 64, 192);
  EXPECT_TRUE(silent());
  host_free(kHeap + 3 * 256 + 63, 1);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_13));
}

TEST_F(Host, R_CPY_13_OneReportForEachLane) {
  const Address a = memory();
  upload(s, a);
  const OpId last = model.copy(call(), s, bytes(a + 512), bytes(kHeap + 64), Form::Asynchronous);
  model.returned(kMain, true);
  host_free(kHeap, 4096);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].earlier.op, last);
}

TEST_F(Host, OnlySoManyLoansAreRemembered) {
  const Address a = memory();
  for (std::size_t i = 0; i <= Loans::kMostLoans; ++i) {
    copy(s, bytes(a), bytes(kHeap + i * kAccess), Form::Asynchronous);
  }
  host_free(kHeap);
  EXPECT_TRUE(silent());
  host_free(kHeap + kAccess);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_13));
}

// ---- order by annotations
// --------------------------------------------------------------------------------------------

TEST_F(Host, R_ANN_03_FromStreamToStream) {
  const Address a = memory();
  write(s, a);
  model.signal(call(), s, 1);
  model.await(call(), t, 2);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite)) << "another object";
  const Address b = memory();
  write(s, b);
  model.signal(call(), s, 1);
  model.await(call(), t, 1);
  write(t, b);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_ANN_03_WorkAfterTheSignalIsNotCovered) {
  const Address a = memory();
  model.signal(call(), s, 1);
  write(s, a);
  model.await(call(), t, 1);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Host, R_ANN_03_SignalsAddUp) {
  const Address a = memory();
  const Address b = memory();
  const StreamId u = non_blocking();
  write(s, a);
  write(t, b);
  model.signal(call(), s, 1);
  model.signal(call(), t, 1);
  model.await(call(), u, 1);
  write(u, a);
  write(u, b);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_ANN_03_FromStreamToHost) {
  const Address a = memory(MemoryKind::Pinned);
  write(s, a);
  model.signal(call(), s, 1);
  touch(a, AccessMode::Write);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  model.await(call(), std::nullopt, 1);
  touch(a, AccessMode::Write);
  EXPECT_TRUE(silent());
}

TEST_F(SeparateThreads, R_ANN_03_FromThreadToThread) {
  const Address a = memory(MemoryKind::Pinned);
  model.host_access(call(kWorker), {a, a + 64}, AccessMode::Write);
  model.signal(call(kWorker), std::nullopt, 1);
  model.host_access(call(), {a, a + 64}, AccessMode::Write);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  const Address b = memory(MemoryKind::Pinned);
  model.host_access(call(kWorker), {b, b + 64}, AccessMode::Write);
  model.signal(call(kWorker), std::nullopt, 1);
  model.await(call(), std::nullopt, 1);
  model.host_access(call(), {b, b + 64}, AccessMode::Write);
  EXPECT_TRUE(silent());
}

TEST_F(Host, R_ANN_03_WhatIsOnlyAssumedStaysSo) {
  const Address a = memory();
  copy(s, pageable(), bytes(a), Form::Asynchronous);  // R-CPY-14
  model.signal(call(), std::nullopt, 1);
  model.await(call(), t, 1);
  write(t, a);
  EXPECT_TRUE(one_latent(HazardKind::WriteAfterRead, Rule::CPY_14));
}

TEST_F(Host, R_ANN_03_ManyObjects) {
  const Address a = memory();
  write(s, a);
  model.signal(call(), s, 0);
  for (std::uint64_t object = 1; object < 2000; ++object) model.signal(call(), s, object);
  model.await(call(), t, 0);
  write(t, a);
  EXPECT_TRUE(silent()) << "an object that had to be forgotten orders more, never less";
}

}  // namespace
}  // namespace streamsan::ordering::testing
