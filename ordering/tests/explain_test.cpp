// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nearest edge: each cause that a report can name, in a program that has it.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Explained : public Program {
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
