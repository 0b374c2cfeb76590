// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nearest edge: each cause that a report can name, in a program that has it.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Explained : public ModelTest {
 protected:
  Address a = memory();
  StreamId s = non_blocking();
  StreamId t = non_blocking();
  EventId event = model.create_event();

  Explanation explanation() {
    const std::vector<Hazard> hazards = found();
    EXPECT_EQ(hazards.size(), 1u);
    return hazards.empty() ? Explanation{} : hazards[0].explanation;
  }
};

TEST_F(Explained, None) {
  write(s, a);
  read(t, a);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, EventRecordedTooEarly) {
  const OpId record = model.record_event(call(), s, event);
  const SiteId record_site{site};
  write(s, a);
  const OpId wait = model.wait_event(call(), t, event);
  const SiteId wait_site{site};
  read(t, a);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventRecordedTooEarly);
  EXPECT_EQ(why.event, event);
  EXPECT_EQ(why.record, record);
  EXPECT_EQ(why.record_site, record_site);
  EXPECT_EQ(why.wait, wait);
  EXPECT_EQ(why.wait_site, wait_site);
}

TEST_F(Explained, EventNeverRecorded) {
  write(s, a);
  const OpId wait = model.wait_event(call(), t, event);
  const SiteId wait_site{site};
  model.record_event(call(), s, event);
  read(t, a);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventNeverRecorded);
  EXPECT_EQ(why.event, event);
  EXPECT_EQ(why.record, kNoOp);
  EXPECT_EQ(why.wait, wait);
  EXPECT_EQ(why.wait_site, wait_site);
}

TEST_F(Explained, AnOldEmptyWaitIsNoExplanation) {
  model.wait_event(call(), t, event);
  edge(s, t);
  write(s, a);
  read(t, a);
  EXPECT_EQ(explanation().nearest, NearestEdge::EventRecordedTooEarly);
}

TEST_F(Explained, EventNotWaitedFor) {
  write(s, a);
  const OpId record = model.record_event(call(), s, event);
  read(t, a);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventNotWaitedFor);
  EXPECT_EQ(why.event, event);
  EXPECT_EQ(why.record, record);
  EXPECT_EQ(why.wait, kNoOp);
}

TEST_F(Explained, AnEventRecordedBeforeTheAccessWasNotToBeWaitedFor) {
  model.record_event(call(), s, event);
  write(s, a);
  read(t, a);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

/// A ring of two slots: a copy stream fills, a kernel stream reads.
class ExplainedRing : public Explained {
 protected:
  static constexpr SiteId kWaits{901}, kFills{902}, kRecords{903}, kReads{904};
  Address slots[2] = {a, a + 2048};
  EventId used[2] = {event, model.create_event()};

  void at(SiteId place) { site = static_cast<std::uint32_t>(place) - 1; }
  void wait_for(int slot) {
    at(kWaits);
    model.wait_event(call(), s, used[slot]);
  }
  void fill(int slot) {
    at(kFills);
    write(s, slots[slot]);
  }
  void record(int slot) {
    at(kRecords);
    model.record_event(call(), t, used[slot]);
  }
  void use(int slot) {
    at(kReads);
    edge(s, t);
    at(kReads);
    read(t, slots[slot]);
  }
  /// Each turn records before its work, and the third waits for the first.
  void expect_recorded_too_early() {
    for (int turn = 0; turn < 3; ++turn) {
      wait_for(turn % 2);
      fill(turn % 2);
      record(turn % 2);
      use(turn % 2);
    }
    const Explanation why = explanation();
    EXPECT_EQ(why.nearest, NearestEdge::EventRecordedTooEarly);
    EXPECT_EQ(why.event, used[0]);
  }
};

TEST_F(ExplainedRing, RecordedBeforeTheWork) { expect_recorded_too_early(); }

TEST_F(ExplainedRing, RecordedBeforeTheWorkBehindOtherWork) {
  read(t, a + 3072);
  expect_recorded_too_early();
}

TEST_F(ExplainedRing, TheOtherSlotWaitedFor) {
  fill(0);
  fill(1);
  for (int turn = 0; turn < 2; ++turn) {
    use(turn);
    record(turn);
  }
  wait_for(0);
  fill(1);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventNotWaitedFor);
  EXPECT_EQ(why.event, used[1]);
}

TEST_F(ExplainedRing, NothingWaitedForAfterAnEmptyFirstTurn) {
  for (int turn = 0; turn < 2; ++turn) {
    wait_for(turn);
    fill(turn);
    use(turn);
    record(turn);
  }
  fill(0);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventNotWaitedFor);
  EXPECT_EQ(why.event, used[0]);
}

TEST_F(Explained, RecordedTooEarlyForTheHost) {
  model.record_event(call(), s, event);
  read(s, a);
  model.record_event(call(), s, model.create_event());
  model.sync_event(call(), event);
  const SiteId wait_site{site};
  model.returned(kMain, true);
  model.host_access(call(), {a, a + 4}, AccessMode::Write);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventRecordedTooEarly);
  EXPECT_EQ(why.event, event);
  EXPECT_EQ(why.wait, kNoOp);
  EXPECT_EQ(why.wait_site, wait_site);
}

TEST_F(Explained, NotByAWaitBeforeTheWorkWasSubmitted) {
  model.record_event(call(), s, event);
  model.sync_event(call(), event);
  model.returned(kMain, true);
  read(s, a);
  const EventId behind = model.create_event();
  model.record_event(call(), s, behind);
  model.host_access(call(), {a, a + 4}, AccessMode::Write);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::EventNotWaitedFor);
  EXPECT_EQ(why.event, behind);
}

TEST_F(Explained, NorByAWaitThatFailed) {
  model.record_event(call(), s, event);
  read(s, a);
  model.sync_event(call(), event);
  model.returned(kMain, false);
  model.host_access(call(), {a, a + 4}, AccessMode::Write);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, ALaterSynchronisationOfTheHostIsNearerThanItsWait) {
  model.record_event(call(), s, event);
  read(s, a + 1024);
  sync_stream(s);
  read(s, a);
  model.sync_event(call(), event);
  model.returned(kMain, true);
  model.host_access(call(), {a, a + 4}, AccessMode::Write);
  EXPECT_EQ(explanation().nearest, NearestEdge::SyncTooEarly);
}

TEST_F(Explained, NonBlockingStream) {
  write(s, a);
  read(legacy(), a);
  EXPECT_EQ(explanation().nearest, NearestEdge::NonBlockingStream);
}

TEST_F(Explained, OtherDevice) {
  const StreamId there = model.create_stream(kOtherContext, StreamKind::NonBlocking);
  write(there, a);
  sync_context();
  model.host_access(call(), {a, a + 4}, AccessMode::Read);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::OtherDevice);
  EXPECT_EQ(why.waited_for, kContext);
  EXPECT_NE(why.wait_site, kNoSite);
}

TEST_F(Explained, OtherDeviceOfTheLaterStream) {
  const StreamId there = model.create_stream(kOtherContext, StreamKind::NonBlocking);
  write(there, a);
  sync_context();
  read(s, a);
  EXPECT_EQ(explanation().nearest, NearestEdge::OtherDevice);
}

TEST_F(Explained, OtherDeviceBetweenStreamsOfOne) {
  const StreamId there = model.create_stream(kOtherContext, StreamKind::NonBlocking);
  write(there, a);
  sync_context();
  read(model.create_stream(kOtherContext, StreamKind::NonBlocking), a);
  EXPECT_EQ(explanation().nearest, NearestEdge::OtherDevice);
}

TEST_F(Explained, OtherDeviceIsNearerThanAWaitThatCameTooEarly) {
  const StreamId there = model.create_stream(kOtherContext, StreamKind::NonBlocking);
  write(there, a + 1024);
  sync_stream(there);
  write(there, a);
  sync_context();
  model.host_access(call(), {a, a + 4}, AccessMode::Read);
  EXPECT_EQ(explanation().nearest, NearestEdge::OtherDevice);
}

TEST_F(Explained, NotAWaitThatFailed) {
  write(model.create_stream(kOtherContext, StreamKind::NonBlocking), a);
  sync_context(false);
  model.host_access(call(), {a, a + 4}, AccessMode::Read);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, NorOneForAnEventOfAnotherProcess) {
  write(model.create_stream(kOtherContext, StreamKind::NonBlocking), a);
  model.sync_unseen(call(), kContext);
  model.returned(kMain, true);
  model.host_access(call(), {a, a + 4}, AccessMode::Read);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, AThirdDeviceIsNotNear) {
  const StreamId there = model.create_stream(kOtherContext, StreamKind::NonBlocking);
  write(there, a);
  sync_context();
  read(model.create_stream(ContextId{9}, StreamKind::NonBlocking), a);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, NorIsAnotherDeviceThatWasWaitedForBefore) {
  const StreamId there = model.create_stream(kOtherContext, StreamKind::NonBlocking);
  sync_context();
  write(there, a);
  model.host_access(call(), {a, a + 4}, AccessMode::Read);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, NonBlockingStreamOfAnotherDeviceBesideACopyBetweenThem) {
  const Address far = 0x5'0000'0000;
  const Range range{far, far + kMemory};
  model.allocate(call(), range, MemoryKind::Device, kOtherContext);
  write(model.create_stream(kOtherContext, StreamKind::NonBlocking), far);
  copy(legacy(), bytes(far), bytes(a), Form::Asynchronous);
  EXPECT_EQ(explanation().nearest, NearestEdge::NonBlockingStream);
}

TEST_F(Explained, NotBesideAKernel) {
  write(model.create_stream(kOtherContext, StreamKind::NonBlocking), a);
  read(legacy(), a);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, SyncTooEarly) {
  write(s, a + 1024);
  sync_stream(s);
  write(s, a);
  model.host_access(call(), {a, a + 4}, AccessMode::Read);
  EXPECT_EQ(explanation().nearest, NearestEdge::SyncTooEarly);
}

TEST_F(Explained, ASyncOfTheSlotsFormerStreamIsNotOne) {
  write(s, a);
  sync_stream(s);
  model.destroy_stream(s);
  const StreamId heir = non_blocking();
  write(heir, a);
  read(t, a);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

TEST_F(Explained, AWaitForTheSlotsFormerStreamIsNotOne) {
  edge(s, t);
  sync_stream(s);
  model.destroy_stream(s);
  const StreamId heir = non_blocking();
  write(heir, a);
  read(t, a);
  EXPECT_EQ(explanation().nearest, NearestEdge::None);
}

}  // namespace
}  // namespace streamsan::ordering::testing
