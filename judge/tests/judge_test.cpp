// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces through the judge: each racy one beside the same trace repaired, which must be silent. What orders what is
// tested in ordering/; here it is that records become the right calls of the model. Which bytes they touch:
// judge_memory_test.cpp; what the findings say: judge_findings_test.cpp.
#include <gtest/gtest.h>

#include "judge/judge.h"
#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

using ordering::MemoryKind;

TEST(Judge, CopyThenKernelInAnotherStream) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    produce(trace);
    if (fixed) trace.event_record(kA, kEvent), trace.event_wait(kB, kEvent);
    consume(trace);
    std::vector<Finding> findings = judge(trace);
    if (fixed) {
      EXPECT_EQ(hazards_of(findings), HazardList{});
      continue;
    }
    ASSERT_EQ(hazards_of(findings), (HazardList{"read-after-write/error/no-edge"}));
    const Finding& f = findings[0];
    EXPECT_EQ(f.kind, report::Kind::Race);
    EXPECT_EQ(f.accesses[0].verb, report::Verb::Read);
    EXPECT_EQ(f.accesses[0].what, "kernel consume(float const*)");
    EXPECT_EQ(f.accesses[0].kernel, "consume(float const*)");
    EXPECT_EQ(f.accesses[0].stream.name, "stream 2");
    EXPECT_EQ(f.accesses[0].stream.kind, report::StreamKind::NonBlocking);
    EXPECT_EQ(f.accesses[0].stream.handle, kB);
    EXPECT_EQ(f.accesses[0].op, 2u);
    EXPECT_EQ(f.accesses[0].evidence, report::Evidence::Inferred);
    EXPECT_EQ(f.accesses[1].verb, report::Verb::Write);
    EXPECT_EQ(f.accesses[1].what, "cuMemcpyHtoDAsync (host to device)");
    EXPECT_EQ(f.accesses[1].api, "cuMemcpyHtoDAsync_v2");
    ASSERT_EQ(f.accesses[1].stack.size(), 1u);
    EXPECT_EQ(f.accesses[1].stack[0].module, "/opt/app/demo");
    EXPECT_EQ(f.accesses[1].stack[0].offset, 0x1100u);
    EXPECT_EQ(f.overlap_begin, kBuffer);
    EXPECT_EQ(f.overlap_end, kBuffer + kBytes);
    ASSERT_TRUE(f.buffer);
    EXPECT_EQ(f.buffer->memory, "device memory");
    EXPECT_EQ(f.buffer->allocator, "cuMemAlloc");
    EXPECT_EQ(f.buffer->bytes, kBytes);
    EXPECT_EQ(f.buffer->stack[0].offset, 0x1000u);
    EXPECT_EQ(f.fingerprint.size(), 16u);
  }
}

TEST(Judge, NearestEdges) {
  TraceBuilder early = two_streams();
  early.at({0x401050}).event_record(kA, kEvent);
  produce(early);
  early.at({0x401060}).event_wait(kB, kEvent);
  consume(early);
  std::vector<Finding> findings = judge(early);
  ASSERT_EQ(hazards_of(findings), (HazardList{"read-after-write/error/event-recorded-too-early"}));
  ASSERT_EQ(findings[0].related.size(), 2u);
  EXPECT_EQ(findings[0].related[0].what, "cuEventRecord");
  EXPECT_EQ(findings[0].related[0].stack[0].offset, 0x1050u);
  EXPECT_EQ(findings[0].related[1].what, "cuStreamWaitEvent");

  TraceBuilder never = two_streams();
  produce(never);
  never.event_wait(kB, kEvent);
  consume(never);
  EXPECT_EQ(hazards_of(judge(never)), (HazardList{"read-after-write/error/event-never-recorded"}));

  TraceBuilder unwaited = two_streams();
  produce(unwaited);
  unwaited.event_record(kA, kEvent);
  consume(unwaited);
  EXPECT_EQ(hazards_of(judge(unwaited)), (HazardList{"read-after-write/error/event-not-waited-for"}));

  TraceBuilder legacy = two_streams();
  produce(legacy, trace::kLegacyStream);
  consume(legacy);
  EXPECT_EQ(hazards_of(judge(legacy)), (HazardList{"read-after-write/error/nonblocking-vs-legacy"}));
  TraceBuilder blocking = two_streams(NonBlocking::No);
  produce(blocking, trace::kLegacyStream);
  consume(blocking);
  EXPECT_EQ(hazards_of(judge(blocking)), HazardList{}) << "blocking streams wait for the legacy stream";
}

TEST(Judge, TheHostKnowsOnlyWhenTheBlockingCallHasReturned) {
  for (bool ok : {true, false}) {
    TraceBuilder trace = two_streams();
    produce(trace);
    trace.sync_stream(kA, ok);
    consume(trace);
    EXPECT_EQ(judge(trace).size(), ok ? 0u : 1u) << "a failed synchronisation orders nothing";
  }
  TraceBuilder between = two_streams();
  produce(between);
  std::uint64_t sync = between.add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
  between.on_thread(2);
  consume(between);  // submitted by another thread while the first is still waiting
  between.on_thread(1).call_end(sync, true);
  EXPECT_EQ(judge(between).size(), 1u);
}

TEST(Judge, ACallEndThatNeverCameIsTakenAsAReturn) {
  TraceBuilder trace = two_streams();
  produce(trace);
  trace.add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
  consume(trace);
  EXPECT_EQ(judge(trace).size(), 0u);
}

TEST(Judge, ThreadsBeyondTheSixtyFiveThousandthDoNotRace) {
  TraceBuilder trace = two_streams();
  trace.on_thread(0xffff);
  produce(trace);
  trace.add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
  consume(trace);
  EXPECT_EQ(judge(trace).size(), 0u);
}

TEST(Judge, EverySynchronisationReachesTheModel) {
  auto with = [](auto&& order) {
    TraceBuilder trace = two_streams();
    produce(trace);
    order(trace);
    consume(trace);
    return judge(trace).size();
  };
  EXPECT_EQ(with([](TraceBuilder&) {}), 1u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.sync_context(); }), 0u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.event_record(kA, kEvent), t.sync_event(kEvent); }), 0u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.sync_event(kEvent); }), 1u) << "never recorded";
  EXPECT_EQ(with([](TraceBuilder& t) { t.add(trace::Kind::QueryStream, "cuStreamQuery", {kA, 0}); }), 0u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.add(trace::Kind::QueryStream, "cuStreamQuery", {kB, 0}); }), 1u);
  EXPECT_EQ(with([](TraceBuilder& t) {
              t.event_record(kA, kEvent), t.add(trace::Kind::QueryEvent, "cuEventQuery", {kEvent});
            }),
            0u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.add(trace::Kind::StreamJoinsAll, "cuStreamWaitValue32_v2", {kB, 0}); }), 0u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.add(trace::Kind::StreamAction, "cuStreamWriteValue32_v2", {kB, 0}); }), 1u);
  EXPECT_EQ(with([](TraceBuilder& t) { t.add(trace::Kind::HostFunction, "cuLaunchHostFunc", {kA, 0}); }), 1u);
}

TEST(Judge, AHostFunctionMayTellTheHostOfTheWorkBeforeIt) {
  for (std::uint64_t stream : {kA, kB}) {
    TraceBuilder trace = two_streams();
    produce(trace);
    trace.add(trace::Kind::HostFunction, "cuLaunchHostFunc", {stream, 0});
    consume(trace);
    const char* severity = stream == kA ? "possible" : "error";
    EXPECT_EQ(hazards_of(judge(trace)), HazardList{std::string("read-after-write/") + severity + "/no-edge"});
  }
}

TEST(Judge, RecycledHandlesAreNewObjects) {
  TraceBuilder trace = two_streams();
  trace.event_record(kA, kEvent);
  trace.event_destroy(kEvent);
  produce(trace);
  trace.event_create(kEvent);  // same handle, never recorded in this life
  trace.event_wait(kB, kEvent);
  consume(trace);
  EXPECT_EQ(hazards_of(judge(trace)), (HazardList{"read-after-write/error/event-never-recorded"}));

  TraceBuilder streams = two_streams();
  produce(streams);
  streams.stream_destroy(kA);
  streams.stream_create(kA, NonBlocking::Yes);
  streams.event_record(kA, kEvent);  // of the new stream, which has no work
  streams.event_wait(kB, kEvent);
  consume(streams);
  std::vector<Finding> findings = judge(streams);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[1].stream.name, "stream 1") << "the destroyed life, not stream 3";
}

TEST(Judge, EventsFromElsewhereOrderEverything) {
  TraceBuilder unseen = two_streams();
  produce(unseen);
  unseen.event_wait(kB, kEvent2);  // its creation was not seen
  consume(unseen);
  EXPECT_EQ(judge(unseen).size(), 0u);

  TraceBuilder shared = two_streams();
  shared.event_create(kEvent2, 4 | 2);  // interprocess
  produce(shared);
  shared.event_wait(kB, kEvent2);
  consume(shared);
  EXPECT_EQ(judge(shared).size(), 0u);

  TraceBuilder recorded_here = two_streams();
  recorded_here.event_record(kB, kEvent2);  // its creation was not seen, but this record was
  produce(recorded_here);
  recorded_here.event_wait(kB, kEvent2);
  consume(recorded_here);
  EXPECT_EQ(judge(recorded_here).size(), 1u);
}

TEST(Judge, StreamsOfUnseenCreationAreBlocking) {
  TraceBuilder trace = two_streams();
  produce(trace, trace::kLegacyStream);
  consume(trace, 0x9999);
  EXPECT_EQ(judge(trace).size(), 0u);
}

TEST(Judge, PerThreadDefaultStreamsAreOnePerThread) {
  for (bool same : {true, false}) {
    TraceBuilder trace = two_streams();
    produce(trace, trace::kPerThreadStream);
    if (!same) trace.on_thread(2);
    consume(trace, trace::kPerThreadStream);
    std::vector<Finding> findings = judge(trace);
    ASSERT_EQ(findings.size(), same ? 0u : 1u);
    if (!same) {
      EXPECT_EQ(findings[0].accesses[0].stream.name, "the per-thread default stream of thread 2");
      EXPECT_EQ(findings[0].accesses[0].stream.kind, report::StreamKind::PerThread);
    }
  }
}

TEST(Judge, ManyShortLivedThreads) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    for (std::uint16_t thread = 2; thread < 300; ++thread) {
      trace.on_thread(thread).fill_async(kA, kBuffer, 64);
      trace.sync_stream(kA);
    }
    trace.on_thread(300);
    produce(trace);
    trace.on_thread(301);
    if (fixed) trace.event_record(kA, kEvent), trace.event_wait(kB, kEvent);
    consume(trace);
    EXPECT_EQ(judge(trace).size(), fixed ? 0u : 1u);
  }
}

TEST(Judge, CapturedCallsDoNotRun) {
  TraceBuilder trace = two_streams();
  trace.capture_begin(kA);
  produce(trace);
  trace.event_record(kA, kEvent);
  trace.event_wait(kB, kEvent);  // pulls stream B into the capture
  consume(trace);
  trace.at({0x401300}).launch(kB, kConsume, {pointer_word(0, kBuffer)});
  trace.event_record(kB, kEvent2);
  trace.event_wait(kA, kEvent2);
  trace.capture_end(kA, 0x77);
  trace.add(trace::Kind::GraphInstantiate, "cuGraphInstantiateWithFlags", {0x88, 0x77});
  trace.graph_launch(kA, 0x88);
  EXPECT_EQ(judge(trace).size(), 0u);

  // After the end both streams execute again, and what the capture "ordered" is not ordered.
  produce(trace);
  consume(trace);
  EXPECT_EQ(judge(trace).size(), 1u);
}

TEST(Judge, AnEventRecordedInACaptureOrdersNothingOutside) {
  TraceBuilder trace = two_streams();
  produce(trace);
  trace.event_record(kA, kEvent);
  trace.event_wait(kB, kEvent);
  consume(trace);
  EXPECT_EQ(judge(trace).size(), 0u);
  TraceBuilder captured = two_streams();
  produce(captured);
  captured.capture_begin(kA);
  captured.event_record(kA, kEvent);
  captured.capture_end(kA, 0x77);
  captured.event_wait(kB, kEvent);
  consume(captured);
  EXPECT_EQ(judge(captured).size(), 1u);
}

TEST(Judge, StreamOrderedMemory) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    trace.alloc(kOther, kBytes, MemoryKind::DeviceAsync, kA);
    if (fixed) trace.event_record(kA, kEvent), trace.event_wait(kB, kEvent);
    trace.launch(kB, kConsume, {pointer_word(0, kOther)}, kBytes);
    EXPECT_EQ(hazards_of(judge(trace)), fixed ? HazardList{} : HazardList{"use-before-alloc/error/no-edge"});
  }
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    trace.alloc(kOther, kBytes, MemoryKind::DeviceAsync, kA);
    trace.sync_stream(kA);
    trace.launch(kB, kConsume, {pointer_word(0, kOther)}, kBytes);
    if (fixed) trace.event_record(kB, kEvent), trace.event_wait(kA, kEvent);
    trace.free_async(kOther, kA);
    std::vector<Finding> findings = judge(trace);
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"free-while-in-use/error/no-edge"});
    if (!fixed) {
      EXPECT_EQ(findings[0].kind, report::Kind::PrematureFree);
      EXPECT_EQ(findings[0].accesses[0].verb, report::Verb::Free);
      EXPECT_EQ(findings[0].accesses[0].what, "cuMemFreeAsync");
      EXPECT_EQ(findings[0].buffer->memory, "stream-ordered device memory");
    }
  }
}

HazardList after_call_of(const char* symbol) {
  TraceBuilder trace = two_streams();
  trace.unmodelled(symbol, 1);
  produce(trace);
  consume(trace);
  return hazards_of(judge(trace));
}

TEST(Judge, AfterOrderThatIsNotSeenNothingIsCertain) {
  for (const char* symbol : {"cuCtxRecordEvent", "cuCtxWaitEvent", "cuGreenCtxRecordEvent", "cuGreenCtxWaitEvent",
                             "cuGraphAddEventRecordNode", "cuGraphAddEventWaitNode", "cuGraphAddNode_v2",
                             "cuLaunchCooperativeKernelMultiDevice"}) {
    EXPECT_EQ(after_call_of(symbol), (HazardList{"read-after-write/possible/no-edge"})) << symbol;
  }
  for (const char* symbol : {"cuGraphAddKernelNode_v2", "cuGraphConditionalHandleCreate", "cuNotInTheTable"}) {
    EXPECT_EQ(after_call_of(symbol), (HazardList{"read-after-write/error/no-edge"})) << symbol;
  }
}

TEST(Judge, BeforeOrderThatIsNotSeenFindingsAreWhatTheyWere) {
  TraceBuilder trace = two_streams();
  produce(trace);
  consume(trace);
  trace.unmodelled("cuCtxWaitEvent", 1);
  trace.at({0x401500}).fill_async(kB, kBuffer, kBytes);
  EXPECT_EQ(hazards_of(judge(trace)),
            (HazardList{"read-after-write/error/no-edge", "write-after-write/possible/no-edge"}));
}

TEST(Judge, EventsThatAGraphWithoutAnImageRecordsOrWaitsForAreOrderThatIsNotSeen) {
  constexpr std::uint64_t kExternal = 1;
  for (trace::Kind kind : {trace::Kind::EventRecord, trace::Kind::EventWait}) {
    for (std::uint64_t flags : {std::uint64_t{0}, kExternal}) {
      TraceBuilder trace = two_streams();
      trace.stream_create(0x3000, NonBlocking::Yes);
      trace.capture_begin(0x3000);
      trace.add(kind, "cuEventRecordWithFlags", {0x3000, TraceBuilder::kContext, kEvent, flags});
      trace.capture_end(0x3000, 0x9000);
      trace.add(trace::Kind::GraphInstantiate, "cuGraphInstantiate", {0xA000, 0x9000});  // without an image
      produce(trace);
      consume(trace);
      EXPECT_EQ(hazards_of(judge(trace)),
                (HazardList{flags ? "read-after-write/possible/no-edge" : "read-after-write/error/no-edge"}));
    }
  }
}

TEST(Judge, AnEventThatALaunchRecordsOrders) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    trace.function(2, "_Z4workPf");
    trace.at({0x401150}).launch(kA, 2, {pointer_word(0, kBuffer)}, kBytes);
    if (fixed) trace.add(trace::Kind::EventRecord, "cuLaunchKernelEx", {kA, TraceBuilder::kContext, kEvent, 0});
    trace.event_wait(kB, kEvent);
    trace.at({0x401500}).fill_async(kB, kBuffer, kBytes);
    EXPECT_EQ(hazards_of(judge(trace)),
              fixed ? HazardList{} : HazardList{"write-after-write/error/event-never-recorded"});
  }
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
