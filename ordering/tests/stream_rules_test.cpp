// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CORE and R-STR: order within a stream, and the legacy default stream.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

using Stream = ModelTest;

TEST_F(Stream, R_CORE_02_OneStreamIsOrdered) {
  const Address a = memory();
  const StreamId s = non_blocking();
  write(s, a);
  read(s, a);
  write(s, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_CORE_05_TwoStreamsAreNot) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_CORE_05_WriteAfterReadAndWriteAfterWrite) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  read(s, a);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
  const Address b = memory();
  write(s, b);
  write(t, b);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Stream, R_CORE_05_ReadsDoNotConflict) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  read(s, a);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_CORE_05_DisjointBytesDoNotConflict) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  write(t, a + kAccess);
  EXPECT_TRUE(silent());
  write(t, a + kAccess - 1);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Stream, R_CORE_01_WhatTheHostKnowsIsBeforeWhatItSubmits) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  sync_stream(s);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_CORE_01_ReturnBeforeSubmissionMatters) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  model.sync_stream(call(kWorker), s);
  read(t, a);  // the worker's call has not returned yet
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  model.returned(kWorker, true);
  write(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_10_LegacyWaitsForBlocking) {
  const Address a = memory();
  write(blocking(), a);
  read(legacy(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_10_BlockingWaitsForLegacy) {
  const Address a = memory();
  const StreamId s = blocking();
  write(legacy(), a);
  read(s, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_10_LegacyActionOrdersTwoBlockingStreams) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  write(s, a);
  model.stream_action(call(), legacy());
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_10_WithoutTheActionTheyAreUnordered) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  legacy();
  write(s, a);
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_10_OnlyWorkBeforeTheActionIsCovered) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  model.stream_action(call(), legacy());
  write(s, a);
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_12_NonBlockingTakesNoPart) {
  const Address a = memory();
  const Address b = memory();
  const StreamId s = non_blocking();
  write(s, a);
  read(legacy(), a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  write(legacy(), b);
  read(s, b);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_12_AnEventOrdersThem) {
  const Address a = memory();
  const StreamId s = non_blocking();
  write(s, a);
  edge(s, legacy());
  read(legacy(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_13_PerThreadIsBlocking) {
  const Address a = memory();
  const StreamId mine = model.per_thread_stream(kContext, kMain);
  EXPECT_EQ(model.kind_of(mine), StreamKind::PerThread);
  write(mine, a);
  read(legacy(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_13_PerThreadStreamsOfTwoThreadsAreUnordered) {
  const Address a = memory();
  const StreamId mine = model.per_thread_stream(kContext, kMain);
  const StreamId other = model.per_thread_stream(kContext, kWorker);
  EXPECT_EQ(mine, model.per_thread_stream(kContext, kMain));
  EXPECT_NE(mine, other);
  write(mine, a);
  read(other, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_16_SyncOfLegacyCoversBlocking) {
  const Address a = memory();
  const StreamId t = non_blocking();
  write(blocking(), a);
  sync_stream(legacy());
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_16_SyncOfLegacyDoesNotCoverNonBlocking) {
  const Address a = memory();
  const StreamId t = non_blocking();
  write(non_blocking(), a);
  sync_stream(legacy());
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_16_SyncOfLegacyIsNoBarrier) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  write(s, a);
  model.sync_stream(call(kWorker), legacy());  // taken, not returned
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_16_QueryOfLegacyCoversBlocking) {
  const Address a = memory();
  write(blocking(), a);
  model.query_stream_succeeded(call(), legacy());
  read(non_blocking(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_17_FreeAsyncInLegacyIsAnAction) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  const Address scratch = 0x900000;
  model.allocate_async(call(), legacy(), {scratch, scratch + 64});
  write(s, a);
  model.free_async(call(), legacy(), scratch);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_17_MallocAsyncInLegacyIsNone) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  write(s, a);
  model.allocate_async(call(), legacy(), {0x900000, 0x900040});
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_17_BlockingIsNotAfterAMallocAsyncThatFollowsAnAction) {
  const Address early = 0x800000;
  const Address late = 0x900000;
  const StreamId s = blocking();
  model.allocate_async(call(), legacy(), {early, early + kMemory});
  model.stream_action(call(), legacy());
  model.allocate_async(call(), legacy(), {late, late + kMemory});
  write(s, early);
  EXPECT_TRUE(silent());
  write(s, late);
  EXPECT_TRUE(one(HazardKind::UseBeforeAllocate));
}

TEST_F(Stream, R_STR_19_BlockingStreamMadeLaterWaits) {
  const Address a = memory();
  write(legacy(), a);
  read(blocking(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_19_NonBlockingStreamMadeLaterDoesNot) {
  const Address a = memory();
  write(legacy(), a);
  read(non_blocking(), a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_20_PendingWorkOfADestroyedBlockingStreamIsBeforeLegacy) {
  const Address a = memory();
  const StreamId s = blocking();
  write(s, a);
  model.destroy_stream(s);
  read(legacy(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_20_OfANonBlockingOneItIsNot) {
  const Address a = memory();
  const StreamId s = non_blocking();
  write(s, a);
  model.destroy_stream(s);
  read(legacy(), a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_21_LegacyStreamsOfTwoContextsAreUnrelated) {
  const Address a = memory();
  write(model.legacy_stream(kOtherContext), a);
  read(legacy(), a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  const Address b = memory();
  write(model.create_stream(kOtherContext, StreamKind::Blocking), b);
  read(model.legacy_stream(kOtherContext), b);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_STR_30_DestroyIsNoSynchronisation) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  model.destroy_stream(s);
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, R_STR_30_ContextSyncStillCoversTheDestroyed) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  model.destroy_stream(s);
  sync_context();
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_HST_01_HostFunctionHasItsPlaceInTheStream) {
  const Address a = memory();
  const StreamId s = blocking();
  const StreamId t = blocking();
  write(s, a);
  model.host_function(call(), legacy());
  read(t, a);
  EXPECT_TRUE(silent());
}

/// Two unordered accesses and a host function: certain unless the function may have signalled the end of the first.
class HostFunction : public ModelTest {
 protected:
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();

  bool one_signalled(HazardKind kind, Order order = Order::Unordered) {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].kind == kind && hazards[0].order == order && hazards[0].order_known &&
           hazards[0].certainty == Certainty::Possible && hazards[0].perhaps_signalled;
  }
};

TEST_F(HostFunction, R_HST_06_MayHaveSignalledTheWorkBeforeIt) {
  write(s, a);
  model.host_function(call(), s);
  write(t, a);
  EXPECT_TRUE(one_signalled(HazardKind::WriteAfterWrite));
}

TEST_F(HostFunction, R_HST_06_WithoutOneTheConflictIsCertain) {
  write(s, a);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(HostFunction, R_HST_06_TellsNothingOfTheWorkBehindIt) {
  model.host_function(call(), s);
  write(s, a);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(HostFunction, R_HST_06_TellsNothingOfOtherStreams) {
  write(s, a);
  model.host_function(call(), non_blocking());
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(HostFunction, R_HST_06_TellsWhatItsStreamHasWaitedFor) {
  const StreamId other = non_blocking();
  write(s, a);
  edge(s, other);
  model.host_function(call(), other);
  write(t, a);
  EXPECT_TRUE(one_signalled(HazardKind::WriteAfterWrite));
}

TEST_F(HostFunction, R_HST_06_SubmittedAfterTheSecondAccessItIsTooLate) {
  write(s, a);
  write(t, a);
  model.host_function(call(), s);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(HostFunction, R_HST_06_TellsAboutFreesAndTheHost) {
  const Address b = memory();
  write(s, a);
  write(s, b);
  model.host_function(call(), s);
  model.host_access(call(), {a, a + kAccess}, AccessMode::Read);
  EXPECT_TRUE(one_signalled(HazardKind::ReadAfterWrite));
  free(b);
  EXPECT_TRUE(one_signalled(HazardKind::FreeWhileInUse, Order::Latent));
}

TEST_F(HostFunction, R_HST_06_WithoutOneFreesAndTheHostAreCertain) {
  const Address b = memory();
  write(s, a);
  write(s, b);
  model.host_access(call(), {a, a + kAccess}, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  free(b);
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::ALC_02));
}

TEST_F(HostFunction, R_HST_06_WorkNotSignalledIsReportedFirst) {
  write(s, a);
  model.host_function(call(), s);
  read(s, a);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

TEST_F(Stream, R_GRF_35_LaunchesOfOneExecAreOrdered) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  model.graph_launch(call(), s, 1);
  model.graph_launch(call(), t, 1);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, R_GRF_35_LaunchesOfTwoExecsAreNot) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  model.graph_launch(call(), s, 1);
  model.graph_launch(call(), t, 2);
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Stream, JoinsAllIsAfterEverything) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  write(model.create_stream(kOtherContext, StreamKind::NonBlocking), a + kAccess);
  model.stream_joins_all(call(), t);
  read(t, a);
  read(t, a + kAccess);
  EXPECT_TRUE(silent());
}

TEST_F(Stream, CallsOnUnknownObjectsDoNothing) {
  const StreamId nowhere{4711};
  EXPECT_EQ(write(nowhere, memory()), kNoOp);
  EXPECT_EQ(kernel(nowhere, 1, memory()), kNoOp);
  model.destroy_stream(nowhere);
  model.record_event(call(), nowhere, EventId{4711});
  model.wait_event(call(), nowhere, EventId{4711});
  sync_stream(nowhere);
  sync_event(EventId{4711});
  free(0xdead);
  EXPECT_TRUE(silent());
}

TEST_F(SeparateThreads, R_SYN_10_WhatOneThreadKnowsTheOtherDoesNot) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  sync_stream(s);
  model.fill(call(kWorker), t, bytes(a), Form::Asynchronous);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Stream, R_SYN_10_JoinedThreadsShareWhatTheyKnow) {
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  write(s, a);
  sync_stream(s);
  model.fill(call(kWorker), t, bytes(a), Form::Asynchronous);
  EXPECT_TRUE(silent());
}

}  // namespace
}  // namespace streamsan::ordering::testing
