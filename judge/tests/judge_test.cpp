// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces through the judge: each racy one beside the same trace repaired, which must be silent. What orders what is
// tested in ordering/; here it is that records become the right calls of the model.
#include "judge/judge.h"

#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::MemoryKind;
using report::Finding;
using report::Severity;
using trace::NonBlocking;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0, kEvent2 = 0xE1;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kOther = 0x7000'0010'0000, kHost = 0x5000;
constexpr std::uint64_t kBytes = 8192;
constexpr std::uint64_t kConsume = 1;  // consume(float const*)

std::vector<Finding> judge(const TraceBuilder& trace, std::size_t most = 1000) { return judged(trace, most).findings; }

/// Two non-blocking streams, an event, a buffer, a kernel that reads.
TraceBuilder two_streams(NonBlocking kind = NonBlocking::Yes) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.function(kConsume, "_Z7consumePKf");
  trace.stream_create(kA, kind);
  trace.stream_create(kB, kind);
  trace.event_create(kEvent);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  return trace;
}

void produce(TraceBuilder& trace, std::uint64_t stream = kA) {
  trace.at({0x401100}).copy_async("cuMemcpyHtoDAsync_v2", stream, kBuffer, kHost, kBytes);
}
void consume(TraceBuilder& trace, std::uint64_t stream = kB) {
  trace.at({0x401200}).launch(stream, kConsume, {pointer_word(0, kBuffer)}, kBytes);
}

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

TEST(Judge, ClassicFreeWhileInUseIsLatent) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    consume(trace);
    if (fixed) trace.sync_stream(kB);
    trace.free(kBuffer);
    std::vector<Finding> findings = judge(trace);
    if (fixed) {
      EXPECT_EQ(findings.size(), 0u);
      continue;
    }
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, Severity::Latent);
    EXPECT_EQ(findings[0].rule, "R-ALC-02");
    EXPECT_EQ(findings[0].hazard, report::Hazard::FreeWhileInUse);
    EXPECT_EQ(findings[0].accesses[0].stream.name, "the host");
    EXPECT_EQ(findings[0].accesses[0].stream.kind, report::StreamKind::Host);
  }
}

TEST(Judge, ShapedCopiesTouchTheirRowsOnly) {
  auto race_with_fill_at = [](std::uint64_t address) {
    TraceBuilder trace = two_streams();
    std::uint64_t shape[8] = {256, 64, 4, 1024, 256, 1, 0, 0};  // 4 rows of 64 bytes, 256 apart
    trace.add(trace::Kind::Copy, "cuMemcpy2DAsync_v2", {kA, 0, kBuffer, kHost, 64, 1}, shape, trace::kAsyncForm);
    trace.fill_async(kB, address, 64);
    return judge(trace).size();
  };
  EXPECT_EQ(race_with_fill_at(kBuffer + 256), 1u);
  EXPECT_EQ(race_with_fill_at(kBuffer + 64), 0u) << "between two rows";
  EXPECT_EQ(race_with_fill_at(kBuffer + 3 * 256 + 32), 1u);
  EXPECT_EQ(race_with_fill_at(kBuffer + 1024), 0u);
}

TEST(Judge, ACopyOfNoSlicesOrNoRowsTouchesNothing) {
  auto races = [](std::uint64_t height, std::uint64_t depth) {
    TraceBuilder trace = two_streams();
    std::uint64_t shape[8] = {128, 64, height, 512, 128, depth, 0, 0};
    trace.add(trace::Kind::Copy, "cuMemcpy3DAsync_v2", {kA, 0, kBuffer, kHost, 64, 1}, shape, trace::kAsyncForm);
    trace.fill_async(kB, kBuffer, 64);
    return judge(trace).size();
  };
  EXPECT_EQ(races(2, 1), 1u);
  EXPECT_EQ(races(2, 0), 0u);
  EXPECT_EQ(races(0, 3), 0u);
}

TEST(Judge, SubBoxesOfAVolumeMayInterleave) {
  // Two rows of 64 bytes in each of three slices; a row is 128 bytes, a slice four rows.
  auto copy_box = [](TraceBuilder& trace, std::uint64_t stream, std::uint64_t address) {
    std::uint64_t shape[8] = {128, 64, 2, 512, 128, 3, 0, 0};
    trace.add(trace::Kind::Copy, "cuMemcpy3DAsync_v2", {stream, 0, address, kHost, 64, 1}, shape, trace::kAsyncForm);
  };
  auto race_with_box_at = [&](std::uint64_t address) {
    TraceBuilder trace = two_streams();
    copy_box(trace, kA, kBuffer);
    copy_box(trace, kB, address);
    return judge(trace).size();
  };
  EXPECT_EQ(race_with_box_at(kBuffer + 64), 0u) << "beside it";
  EXPECT_EQ(race_with_box_at(kBuffer + 256), 0u) << "below it, in every slice";
  EXPECT_EQ(race_with_box_at(kBuffer + 128), 1u) << "one row of each slice is common";
  EXPECT_EQ(race_with_box_at(kBuffer + 2 * 512), 1u) << "one slice is common";
  EXPECT_EQ(race_with_box_at(kBuffer + 3 * 512), 0u);
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
  for (const char* symbol : {"cuGraphAddKernelNode_v2", "cuArrayDestroy", "cuNotInTheTable"}) {
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

TEST(Judge, EventsThatAGraphRecordsOrWaitsForAreOrderThatIsNotSeen) {
  constexpr std::uint64_t kExternal = 1;
  for (trace::Kind kind : {trace::Kind::EventRecord, trace::Kind::EventWait}) {
    for (std::uint64_t flags : {std::uint64_t{0}, kExternal}) {
      TraceBuilder trace = two_streams();
      trace.stream_create(0x3000, NonBlocking::Yes);
      trace.capture_begin(0x3000);
      trace.add(kind, "cuEventRecordWithFlags", {0x3000, TraceBuilder::kContext, kEvent, flags});
      trace.capture_end(0x3000, 0x9000);
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

TEST(Judge, SlicesOfOneBufferByKernelsAreAtMostPossible) {
  TraceBuilder trace = two_streams();
  trace.function(2, "_Z4workPfi");
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.stream_create(0x3000 + i, NonBlocking::Yes);
    trace.launch(0x3000 + i, 2, {pointer_word(0, kBuffer + i * 2048)}, 512, i);
  }
  for (const Finding& f : judge(trace)) EXPECT_EQ(f.severity, Severity::Possible);
}

TEST(Judge, ModuleVariablesLookedUpTwiceAreOneAllocation) {
  for (bool variable : {true, false}) {
    TraceBuilder trace = two_streams();
    auto look_up = [&] {
      trace.add(trace::Kind::Alloc, "cuModuleGetGlobal_v2", {kOther, 4096, 0, 0, TraceBuilder::kContext}, {},
                variable ? trace::kVariable : std::uint16_t{0});
    };
    look_up();
    trace.copy_async("cuMemcpyHtoDAsync_v2", kA, kOther, kHost, 4096);
    look_up();
    trace.launch(kB, kConsume, {pointer_word(0, kOther)}, 4096);
    EXPECT_EQ(judge(trace).size(), variable ? 1u : 0u);
  }
}

TEST(Judge, LoopsFoldIntoOneFindingWithACount) {
  TraceBuilder trace = two_streams();
  for (int i = 0; i < 10; ++i) {
    trace.copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
    trace.launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
    trace.sync_context();
  }
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].count, 10u);
}

TEST(Judge, FindingsBeyondTheLimitAreCounted) {
  TraceBuilder trace = two_streams();
  for (std::uint64_t i = 0; i < 5; ++i) {
    trace.at({0x401000 + i}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
    trace.at({0x402000 + i}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
    trace.sync_context();
  }
  EXPECT_EQ(judge(trace).size(), 5u);
  EXPECT_EQ(judge(trace, 3).size(), 3u);
}

TEST(Judge, FingerprintIsTheSameWhereverTheModuleIsLoaded) {
  auto run = [](std::uint64_t bias, std::uint64_t offset) {
    TraceBuilder trace;
    trace.module("/opt/app/demo", bias, bias, bias + 0x100000);
    trace.function(kConsume, "_Z7consumePKf");
    trace.stream_create(kA, NonBlocking::Yes);
    trace.stream_create(kB, NonBlocking::Yes);
    trace.alloc(kBuffer + bias, kBytes);
    trace.at({bias + 0x1100}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer + bias, kHost, kBytes);
    trace.at({bias + offset}).launch(kB, kConsume, {pointer_word(0, kBuffer + bias)}, kBytes);
    std::vector<Finding> findings = judge(trace);
    return findings.size() == 1 ? findings[0].fingerprint : "";
  };
  EXPECT_EQ(run(0x400000, 0x1200), run(0x55550000, 0x1200));
  EXPECT_NE(run(0x400000, 0x1200), run(0x400000, 0x1204));
}

TEST(Judge, StreamsAreNamedByTheProgramsNames) {
  TraceBuilder trace = two_streams();
  trace.name_stream(kB, "compute");
  produce(trace);
  consume(trace);
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].stream.name, "stream \"compute\"");
}

TEST(Judge, AModuleMayBeRecordedAfterItsFirstStack) {
  TraceBuilder trace = two_streams();
  trace.at({0x900010}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
  trace.module("/opt/app/plugin1.so", 0x900000, 0x900000, 0x910000);
  trace.module("/opt/app/plugin2.so", 0x8ff000, 0x8ff000, 0x918000);  // long after, when the first one was unmapped
  trace.at({0x700010}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].stack[0].module, "") << "in no module at all";
  EXPECT_EQ(findings[0].accesses[1].stack[0].module, "/opt/app/plugin1.so");
  EXPECT_EQ(findings[0].accesses[1].stack[0].offset, 0x10u);
}

TEST(Judge, AddressesResolveInTheModulesOfTheirTime) {
  TraceBuilder trace = two_streams();
  trace.module("/opt/app/plugin1.so", 0x900000, 0x900000, 0x910000);
  trace.at({0x900010}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
  trace.module("/opt/app/plugin2.so", 0x908000, 0x908000, 0x918000);  // mapped where the first one was
  trace.at({0x908010}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].stack[0].module, "/opt/app/plugin2.so");
  EXPECT_EQ(findings[0].accesses[0].stack[0].offset, 0x10u);
  EXPECT_EQ(findings[0].accesses[1].stack[0].module, "/opt/app/plugin1.so");
}

TEST(Judge, LinesOfPythonTellStacksApart) {
  TraceBuilder trace = two_streams();
  trace.module("/usr/bin/python3.12", 0x900000, 0x900000, 0x910000);
  trace.python_frame(1, "load", "/home/me/train.py", 10);
  trace.python_frame(2, "step", "/home/me/train.py", 20);
  trace.python_frame(3, "step", "/home/me/train.py", 21);
  trace.python_frame(4, "<module>", "/home/me/train.py", 30);
  trace.at({0x900010}, {1, 4}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
  trace.at({0x900010}, {2, 4}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  trace.at({0x900010}, {3, 4}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  trace.at({0x900010}, {3, 99}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);  // 99: not known
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_NE(findings[0].fingerprint, findings[1].fingerprint);
  EXPECT_NE(findings[1].fingerprint, findings[2].fingerprint);
  const std::vector<report::Frame>& stack = findings[0].accesses[0].stack;
  ASSERT_EQ(stack.size(), 2u) << "the interpreter's own frames are left out";
  EXPECT_EQ(stack[0].function, "step");
  EXPECT_EQ(stack[0].file, "/home/me/train.py");
  EXPECT_EQ(stack[0].line, 20u);
  EXPECT_EQ(stack[0].language, report::Language::Python);
  EXPECT_FALSE(stack[0].library);
  EXPECT_EQ(stack[1].function, "<module>");
  EXPECT_EQ(findings[2].accesses[0].stack.size(), 1u);
}

/// Two streams, an event without effect and a race: the copy is called `copy`, in a trace with these functions.
TraceBuilder racy_with(std::vector<std::string> functions, std::string_view copy = "cuMemcpyHtoDAsync_v2") {
  TraceBuilder trace;
  trace.set_functions(std::move(functions));
  trace.function(kConsume, "_Z7consumePKf");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.event_create(kEvent);
  trace.alloc(kBuffer, kBytes);
  trace.event_record(kA, kEvent);
  trace.copy_async(copy, kA, kBuffer, kHost, kBytes);
  trace.event_wait(kB, kEvent);
  consume(trace);
  return trace;
}

const std::vector<std::string> kCalled = {"cuEventCreate",  "cuEventRecord",        "cuLaunchKernel",   "cuMemAlloc_v2",
                                          "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent"};

TEST(Judge, ATraceWithAnotherTableOfFunctionsIsJudgedAlike) {
  const Judged own = judged(racy_with({}));
  ASSERT_EQ(hazards_of(own.findings), (HazardList{"read-after-write/error/event-recorded-too-early"}));
  std::vector<std::string> reversed(kCalled.rbegin(), kCalled.rend());
  std::vector<std::string> more = {"cuAaa"};
  for (const std::string& name : kCalled) more.insert(more.end(), {name, name + "_v77"});
  for (const std::vector<std::string>& functions : {kCalled, reversed, more}) {
    const Judged other = judged(racy_with(functions));
    ASSERT_EQ(hazards_of(other.findings), hazards_of(own.findings));
    for (int i : {0, 1}) {
      EXPECT_EQ(other.findings[0].accesses[i].api, own.findings[0].accesses[i].api);
      EXPECT_EQ(other.findings[0].accesses[i].what, own.findings[0].accesses[i].what);
    }
    EXPECT_EQ(other.findings[0].fingerprint, own.findings[0].fingerprint);
    EXPECT_EQ(other.unmodelled, std::vector<std::string>{});
  }
}

TEST(Judge, AFunctionThatTheTableDoesNotHaveIsNamedAndItsRecordStillCounts) {
  std::vector<std::string> functions = kCalled;
  functions.push_back("cuMemcpyAnywhereAsync_v3_ptsz");
  const Judged out = judged(racy_with(functions, "cuMemcpyAnywhereAsync_v3_ptsz"));
  ASSERT_EQ(hazards_of(out.findings), (HazardList{"read-after-write/error/event-recorded-too-early"}));
  EXPECT_EQ(out.findings[0].accesses[1].api, "cuMemcpyAnywhereAsync_v3_ptsz");
  EXPECT_EQ(out.findings[0].accesses[1].what, "cuMemcpyAnywhereAsync");
  EXPECT_EQ(out.unmodelled, std::vector<std::string>{"cuMemcpyAnywhereAsync_v3_ptsz (1 call)"});
}

}  // namespace
}  // namespace streamsan::judge
