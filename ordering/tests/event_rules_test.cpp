// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-EVT and R-SYN: events, host synchronisation, queries.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Event : public ModelTest {
 protected:
  Address a = memory();
  StreamId s = non_blocking();
  StreamId t = non_blocking();
  EventId event = model.create_event();

  void record(StreamId stream) { model.record_event(call(), stream, event); }
  void wait(StreamId stream) { model.wait_event(call(), stream, event); }
  bool race() { return one(HazardKind::ReadAfterWrite); }
};

TEST_F(Event, R_EVT_05_WaitOrders) {
  write(s, a);
  record(s);
  wait(t);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_EVT_01_LaterWorkIsNotCaptured) {
  record(s);
  write(s, a);
  wait(t);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_01_CapturesWhatTheStreamHasWaitedFor) {
  const StreamId u = non_blocking();
  write(u, a);
  edge(u, s);
  record(s);
  wait(t);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_EVT_03_RecordingAgainDoesNotMoveAnEarlierWait) {
  record(s);
  wait(t);
  write(s, a);
  record(s);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_03_AWaitUsesTheLastRecord) {
  record(s);
  write(s, a);
  record(s);
  wait(t);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_EVT_03_RecordingElsewhereReplacesTheCapture) {
  write(s, a);
  record(s);
  record(non_blocking());
  wait(t);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_04_WaitOnNeverRecordedDoesNothing) {
  write(s, a);
  wait(t);
  record(s);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_04_SyncWithNeverRecordedDoesNothing) {
  write(s, a);
  sync_event(event);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_04_EmptyWaitOnLegacyIsNoBarrier) {
  const StreamId b = blocking();
  const StreamId c = blocking();
  write(b, a);
  wait(legacy());
  read(c, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_04_EmptyWaitIsNoWorkOfABlockingStream) {
  const StreamId b = blocking();
  write(legacy(), a);
  wait(b);
  sync_stream(b);  // there is nothing in it
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_04_WorkOfABlockingStreamBehindAnEmptyWait) {
  const StreamId b = blocking();
  write(legacy(), a);
  wait(b);
  write(b, memory());
  sync_stream(b);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_STR_14_WaitOnLegacyIsABarrier) {
  const StreamId b = blocking();
  const StreamId c = blocking();
  write(b, a);
  record(s);
  wait(legacy());
  read(c, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_STR_14_WaitOnLegacyHoldsBlockingStreams) {
  write(s, a);
  record(s);
  wait(legacy());
  read(blocking(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_STR_14_ButNotNonBlockingOnes) {
  write(s, a);
  record(s);
  wait(legacy());
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_STR_15_RecordOnLegacyCapturesBlocking) {
  write(blocking(), a);
  record(legacy());
  wait(t);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_STR_15_RecordOnLegacyDoesNotCaptureNonBlocking) {
  write(s, a);
  record(legacy());
  wait(t);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_08_SyncMakesTheCaptureKnown) {
  write(s, a);
  record(s);
  sync_event(event);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_EVT_08_NotWhatCameAfterTheRecord) {
  record(s);
  write(s, a);
  sync_event(event);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_09_SuccessfulQueryIsAnEdge) {
  write(s, a);
  record(s);
  model.query_event_succeeded(call(), event);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_EVT_09_OfTheCaptureOnly) {
  record(s);
  write(s, a);
  model.query_event_succeeded(call(), event);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_EVT_11_DestroyLeavesWaitsInForce) {
  write(s, a);
  record(s);
  wait(t);
  model.destroy_event(event);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_EVT_11_AfterDestroyThereIsNothingToWaitFor) {
  write(s, a);
  record(s);
  model.destroy_event(event);
  wait(t);
  read(t, a);
  EXPECT_TRUE(race());
}

/// Of all work of a context, or by all.
class ContextEvent : public Event {
 protected:
  StreamId elsewhere = model.create_stream(kOtherContext, StreamKind::NonBlocking);

  void record_all(ContextId context = kContext) { model.record_event_of(call(), {&context, 1}, event); }
  void wait_all(ContextId context = kContext) { model.wait_event_by(call(), {&context, 1}, event); }
};

TEST_F(ContextEvent, R_EVT_17_CapturesAllStreams) {
  write(s, a);
  record_all();
  wait(t);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(ContextEvent, R_EVT_17_NotLaterWork) {
  record_all();
  write(s, a);
  wait(t);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(ContextEvent, R_EVT_17_NotThatOfAnotherContext) {
  write(elsewhere, a);
  record_all();
  wait(t);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(ContextEvent, R_EVT_17_OfSeveralContexts) {
  write(elsewhere, a);
  const ContextId both[] = {kContext, kOtherContext};
  model.record_event_of(call(), both, event);
  wait(t);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(ContextEvent, R_EVT_17_TheRecordIsNoWorkOfAnyStream) {
  write(s, a);
  record_all();
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(ContextEvent, R_EVT_17_TheHostMayWaitForIt) {
  write(s, a);
  record_all();
  sync_event(event);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(ContextEvent, R_EVT_18_AllLaterWorkWaits) {
  write(s, a);
  record(s);
  wait_all();
  read(t, a);
  read(legacy(), a);
  read(non_blocking(), a);
  EXPECT_TRUE(silent());
}

TEST_F(ContextEvent, R_EVT_18_NotThatOfAnotherContext) {
  write(s, a);
  record(s);
  wait_all();
  read(elsewhere, a);
  EXPECT_TRUE(race());
}

TEST_F(ContextEvent, R_EVT_18_ForTheCaptureOnly) {
  record(s);
  write(s, a);
  wait_all();
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(ContextEvent, R_EVT_18_AnEventNeverRecordedIsNotWaitedFor) {
  write(s, a);
  wait_all();
  record(s);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(ContextEvent, R_EVT_18_ASynchronisationCoversIt) {
  write(elsewhere, a);
  record(elsewhere);
  wait_all();
  sync_stream(s);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_SYN_01_StreamSyncCoversItsStream) {
  write(s, a);
  sync_stream(s);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_SYN_01_AndNoOther) {
  write(s, a);
  sync_stream(t);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_SYN_01_SyncOfABlockingStreamDoesNotCoverLegacy) {
  const StreamId b = blocking();
  write(legacy(), a);
  sync_stream(b);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_SYN_02_SuccessfulQueryCoversTheStream) {
  write(s, a);
  model.query_stream_succeeded(call(), s);
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_SYN_02_OnlyWhatWasThere) {
  model.query_stream_succeeded(call(), s);
  write(s, a);
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_SYN_03_ContextSyncCoversNonBlocking) {
  write(s, a);
  sync_context();
  read(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Event, R_SYN_03_NotAnotherContext) {
  write(model.create_stream(kOtherContext, StreamKind::Blocking), a);
  sync_context();
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Event, R_SYN_05_FailedSyncOrdersNothing) {
  write(s, a);
  sync_stream(s, false);
  sync_context(false);
  read(t, a);
  EXPECT_TRUE(race());
}

}  // namespace
}  // namespace streamsan::ordering::testing
