// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that do nothing, or less than they seem to, each beside a use that is right; and calls that failed.
#include "judge/event_misuse.h"

#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using report::Finding;
using report::Severity;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kC = 0x3000, kEvent = 0xE0, kOther = 0xE1;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kBytes = 4096;

TraceBuilder three_streams(NonBlocking kind = NonBlocking::Yes) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  for (std::uint64_t stream : {kA, kB, kC}) trace.stream_create(stream, kind);
  trace.event_create(kEvent);
  for (std::uint64_t i = 0; i < 3; ++i) trace.alloc(kBuffer + i * 0x10000, kBytes);
  return trace;
}

/// Each stream has a buffer of its own: nothing here races.
void work(TraceBuilder& trace, std::uint64_t stream) {
  trace.at({0x401000 + stream}).fill_async(stream, kBuffer + (stream / 0x1000 - 1) * 0x10000, kBytes);
}

HazardList misuses_of(const TraceBuilder& trace) {
  const Judged out = judged(trace);
  EXPECT_EQ(hazards_of(out.findings), HazardList{});
  HazardList list;
  for (const Finding& f : out.misuses) list.push_back(f.hazard.text() + "/" + report::name(f.severity));
  return list;
}

TEST(EventMisuse, WaitedForAndNeverRecorded) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = three_streams();
    work(trace, kA);
    if (fixed) trace.at({0x401010}).event_record(kA, kEvent);
    trace.at({0x401020}).event_wait(kB, kEvent);
    work(trace, kB);
    EXPECT_EQ(misuses_of(trace), fixed ? HazardList{} : HazardList{"event-never-recorded/latent"});
    if (fixed) continue;
    const Finding f = judged(trace).misuses[0];
    EXPECT_EQ(f.kind, report::Kind::EventMisuse);
    EXPECT_EQ(f.cause, report::Cause::NeverRecorded);
    EXPECT_EQ(f.message, "stream 2 waits for event 1, which is never recorded.");
    EXPECT_EQ(f.explanation, "a wait for an event that was never recorded does nothing.");
    EXPECT_EQ(f.fix,
              "call cuEventRecord(event 1, stream) after the work that stream 2 is to wait for and before "
              "cuStreamWaitEvent, or remove the wait.");
    EXPECT_EQ(f.accesses.size(), 0u);
    ASSERT_EQ(f.related.size(), 1u);
    EXPECT_EQ(f.related[0].what, "cuStreamWaitEvent");
    EXPECT_EQ(f.related[0].api, "cuStreamWaitEvent");
    EXPECT_EQ(f.related[0].stream.name, "stream 2");
    EXPECT_EQ(f.related[0].op, 2u);
    EXPECT_EQ(f.fingerprint.size(), 16u);
  }
}

TEST(EventMisuse, TheHostWaitsToo) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = three_streams();
    if (fixed) trace.event_record(kA, kEvent);
    trace.sync_event(kEvent);
    EXPECT_EQ(misuses_of(trace), fixed ? HazardList{} : HazardList{"event-never-recorded/latent"});
    if (!fixed) {
      EXPECT_EQ(judged(trace).misuses[0].message, "the host waits for event 1, which is never recorded.");
    }
  }
}

TEST(EventMisuse, EveryWaitAtAPlaceIsOneFinding) {
  TraceBuilder trace = three_streams();
  for (int i = 0; i < 5; ++i) {
    trace.event_create(kOther);
    trace.at({0x401020}).event_wait(kB, kOther);
    trace.event_destroy(kOther);
  }
  const Judged out = judged(trace);
  ASSERT_EQ(out.misuses.size(), 1u);
  EXPECT_EQ(out.misuses[0].count, 5u);
}

TEST(EventMisuse, APlaceThatWaitsForSomethingElsewhereIsRight) {
  // Slots of which one stays unused, waited for in one loop.
  TraceBuilder trace = three_streams();
  trace.event_create(kOther);
  trace.event_record(kA, kEvent);
  trace.at({0x401020});
  trace.sync_event(kEvent);
  trace.sync_event(kOther);
  EXPECT_EQ(misuses_of(trace), HazardList{"event-never-recorded/note"});
}

TEST(EventMisuse, TheFirstTurnOfALoopIsANote) {
  TraceBuilder trace = three_streams();
  for (int i = 0; i < 3; ++i) {
    trace.at({0x401020}).event_wait(kB, kEvent);
    work(trace, kB);
    work(trace, kA);
    trace.at({0x401030}).event_record(kA, kEvent);
  }
  EXPECT_EQ(misuses_of(trace), HazardList{"event-waited-too-early/note"});
  const Finding f = judged(trace).misuses[0];
  EXPECT_EQ(f.message, "stream 2 waits for event 1 before its first record.");
  EXPECT_EQ(f.explanation,
            "the wait (op #1) does nothing, event 1 is recorded later (op #4). In the first turn of a loop this is "
            "common and correct.");
}

TEST(EventMisuse, EventsThatOthersMayRecordAreLeftAlone) {
  TraceBuilder unseen = three_streams();
  unseen.event_wait(kB, kOther);
  unseen.sync_event(kOther);
  EXPECT_EQ(misuses_of(unseen), HazardList{});

  TraceBuilder shared = three_streams();
  shared.event_create(kOther, 4 | 2);  // interprocess
  shared.event_wait(kB, kOther);
  EXPECT_EQ(misuses_of(shared), HazardList{});

  TraceBuilder captured = three_streams();
  captured.capture_begin(kA);
  captured.event_record(kA, kEvent);
  captured.event_wait(kB, kEvent);
  captured.event_record(kB, kEvent);
  captured.event_wait(kA, kEvent);
  captured.capture_end(kA, 0x77);
  captured.event_wait(kC, kEvent);
  EXPECT_EQ(misuses_of(captured), HazardList{});

  for (const char* symbol : {"cuGraphAddEventRecordNode", "cuGraphAddMemAllocNode"}) {
    TraceBuilder graph = three_streams();
    graph.unmodelled(symbol, 1);
    graph.event_wait(kB, kEvent);
    const bool records = std::string_view(symbol) == "cuGraphAddEventRecordNode";
    EXPECT_EQ(misuses_of(graph), records ? HazardList{} : HazardList{"event-never-recorded/latent"}) << symbol;
  }
}

TEST(EventMisuse, WhatAHazardTellsIsNotRepeated) {
  TraceBuilder trace = three_streams();
  work(trace, kA);
  trace.at({0x401020}).event_wait(kB, kEvent);
  trace.at({0x401040}).fill_async(kB, kBuffer, kBytes);
  const Judged out = judged(trace);
  EXPECT_EQ(hazards_of(out.findings), HazardList{"write-after-write/error/event-never-recorded"});
  EXPECT_EQ(out.misuses.size(), 0u);
}

TEST(EventMisuse, ARecordLostToAnotherStream) {
  enum class Between { Nothing, Wait, Query, Sync, OrderedAnyway, SecondEvent };
  auto trace_with = [](Between between) {
    TraceBuilder trace = three_streams();
    trace.event_create(kOther);
    work(trace, kA);
    work(trace, kB);
    trace.at({0x401010}).event_record(kA, kEvent);
    if (between == Between::Wait) trace.event_wait(kC, kEvent);
    if (between == Between::Query) trace.add(trace::Kind::QueryEvent, "cuEventQuery", {kEvent});
    if (between == Between::Sync) trace.sync_stream(kA);
    if (between == Between::OrderedAnyway) trace.event_record(kA, kOther), trace.event_wait(kB, kOther);
    trace.at({0x401020}).event_record(kB, kEvent);
    if (between == Between::SecondEvent) trace.event_record(kA, kOther), trace.event_wait(kC, kOther);
    trace.at({0x401030}).event_wait(kC, kEvent);
    work(trace, kC);
    return trace;
  };
  EXPECT_EQ(misuses_of(trace_with(Between::Nothing)), HazardList{"event-record-lost/note"});
  for (Between between : {Between::Wait, Between::Query, Between::Sync, Between::OrderedAnyway, Between::SecondEvent}) {
    EXPECT_EQ(misuses_of(trace_with(between)), HazardList{}) << static_cast<int>(between);
  }
  const Finding f = judged(trace_with(Between::Nothing)).misuses[0];
  EXPECT_EQ(f.message, "event 1 is recorded in stream 1 and then in stream 2, and only then waited for.");
  EXPECT_EQ(f.explanation,
            "a new record replaces the previous one: stream 3 waits for what stream 2 held (op #4), and not for "
            "what stream 1 held (op #3).");
  EXPECT_EQ(f.related.size(), 3u);
}

TEST(EventMisuse, RecordedBeforeTheWork) {
  for (bool by_host : {false, true}) {
    for (bool fixed : {false, true}) {
      TraceBuilder trace = three_streams();
      if (fixed) work(trace, kA);
      trace.at({0x401010}).event_record(kA, kEvent);
      if (!fixed) work(trace, kA);
      trace.at({0x401020});
      by_host ? trace.sync_event(kEvent) : trace.event_wait(kB, kEvent);
      EXPECT_EQ(misuses_of(trace), fixed ? HazardList{} : HazardList{"event-recorded-too-early/note"});
      if (fixed || by_host) continue;
      const Finding f = judged(trace).misuses[0];
      EXPECT_EQ(f.message, "event 1 is recorded in stream 1 before any work is in it.");
      EXPECT_EQ(
          f.explanation,
          "stream 1 was empty when event 1 was recorded (op #1) and was given work before stream 2 waits (op #3): "
          "the wait covers none of it.");
    }
  }
}

TEST(EventMisuse, RecordsOfEmptyStreamsThatAreRight) {
  TraceBuilder primed = three_streams();  // recorded once so that the first wait passes
  primed.at({0x401010}).event_record(kA, kEvent);
  for (int i = 0; i < 3; ++i) {
    work(primed, kA);
    primed.at({0x401020}).event_wait(kB, kEvent);
    work(primed, kB);
    primed.at({0x401030}).event_record(kA, kEvent);
  }
  EXPECT_EQ(misuses_of(primed), HazardList{});

  TraceBuilder no_work = three_streams();
  no_work.event_record(kA, kEvent);
  no_work.event_wait(kB, kEvent);
  EXPECT_EQ(misuses_of(no_work), HazardList{});

  TraceBuilder waits = three_streams();  // it is after another stream's work
  waits.event_create(kOther);
  work(waits, kB);
  waits.event_record(kB, kOther);
  waits.event_wait(kA, kOther);
  waits.event_record(kA, kEvent);
  work(waits, kA);
  waits.event_wait(kC, kEvent);
  EXPECT_EQ(misuses_of(waits), HazardList{});

  for (NonBlocking kind : {NonBlocking::Yes, NonBlocking::No}) {
    TraceBuilder legacy = three_streams(kind);  // a blocking stream is after the legacy stream's work
    legacy.fill_async(trace::kLegacyStream, kBuffer + 0x20000, kBytes);
    legacy.event_record(kA, kEvent);
    work(legacy, kA);
    legacy.event_wait(kB, kEvent);
    EXPECT_EQ(misuses_of(legacy),
              kind == NonBlocking::Yes ? HazardList{"event-recorded-too-early/note"} : HazardList{});
  }
}

// ---- calls that failed
// ------------------------------------------------------------------------------------------------

constexpr std::uint64_t kInvalidHandle = 400;

Judged with_failed(bool failed, std::uint64_t event, bool before_write = false) {
  TraceBuilder trace = three_streams();
  trace.event_create(kOther);
  auto fail = [&] {
    if (failed) trace.at({0x401010}).call_failed("cuEventRecord", kA, event, kInvalidHandle);
  };
  if (before_write) fail();
  work(trace, kA);
  if (!before_write) fail();
  trace.at({0x401020}).event_wait(kB, kEvent);
  trace.at({0x401040}).fill_async(kB, kBuffer, kBytes);
  return judged(trace);
}

TEST(FailedCalls, AFailedRecordIsWhyTheEventWasNeverRecorded) {
  const Judged out = with_failed(true, kEvent);
  ASSERT_EQ(out.findings.size(), 1u);
  const Finding& f = out.findings[0];
  EXPECT_EQ(f.cause, report::Cause::NeverRecorded);
  EXPECT_TRUE(
      f.explanation.ends_with(" cuEventRecord(event 1) failed with invalid resource handle (400): nothing was "
                              "recorded."))
      << f.explanation;
  EXPECT_EQ(f.fix, "check the result of cuEventRecord(event 1); create the event on the device of the stream.");
  ASSERT_EQ(f.related.size(), 2u);
  EXPECT_EQ(f.related[1].what, "cuEventRecord(event 1), failed with invalid resource handle (400)");
  EXPECT_EQ(f.related[1].stack[0].offset, 0x1010u);
  EXPECT_EQ(out.failed_calls, "1 call failed: cuEventRecord: invalid resource handle (400)");
}

TEST(FailedCalls, OthersAreNotBlamed) {
  for (const Judged& out : {with_failed(false, kEvent), with_failed(true, kOther), with_failed(true, kEvent, true)}) {
    ASSERT_EQ(out.findings.size(), 1u);
    EXPECT_EQ(out.findings[0].explanation.find("failed"), std::string::npos) << out.findings[0].explanation;
    EXPECT_EQ(out.findings[0].related.size(), 1u);
  }
}

TEST(FailedCalls, AloneTheyAreCountedAndNoFinding) {
  TraceBuilder trace = three_streams();
  for (int i = 0; i < 2; ++i) trace.call_failed("cuEventRecord", kA, kEvent, kInvalidHandle);
  trace.call_failed("cuLaunchKernel", kA, 0, 1);
  const Judged out = judged(trace);
  EXPECT_EQ(out.findings.size() + out.misuses.size(), 0u);
  EXPECT_EQ(out.failed_calls,
            "3 calls failed: cuEventRecord: invalid resource handle (400), 2 times; cuLaunchKernel: invalid argument "
            "(1)");
  EXPECT_EQ(judged(three_streams()).failed_calls, "");
}

TEST(FailedCalls, WaitsAndSynchronisations) {
  struct Case {
    const char* symbol;
    std::uint64_t stream;
    bool blamed;
  };
  for (const Case& c : {Case{"cuStreamWaitEvent", kB, true}, Case{"cuStreamWaitEvent", kC, false},
                        Case{"cuStreamSynchronize", kA, true}, Case{"cuStreamSynchronize", kC, false},
                        Case{"cuCtxSynchronize", 0, true}, Case{"cuLaunchKernel", kA, false}}) {
    TraceBuilder trace = three_streams();
    work(trace, kA);
    trace.call_failed(c.symbol, c.stream, 0, 1);
    trace.at({0x401040}).fill_async(kB, kBuffer, kBytes);
    const Judged out = judged(trace);
    ASSERT_EQ(out.findings.size(), 1u);
    EXPECT_EQ(out.findings[0].explanation.find("failed with invalid argument (1)") != std::string::npos, c.blamed)
        << c.symbol << " " << c.stream << ": " << out.findings[0].explanation;
  }
}

TEST(FailedCalls, BehindOneThatEndsTheContextNothingIsChecked) {
  for (const std::uint64_t result : {std::uint64_t{1}, std::uint64_t{700}, std::uint64_t{719}}) {
    TraceBuilder trace = three_streams();
    work(trace, kA);
    trace.call_failed("cuCtxSynchronize", 0, 0, result);
    trace.at({0x401040}).fill_async(kB, kBuffer, kBytes);
    EXPECT_EQ(judged(trace).findings.size(), result == 1 ? 1u : 0u) << result;
  }
}

TEST(FailedCalls, AMisuseNamesTheFailedRecord) {
  TraceBuilder trace = three_streams();
  work(trace, kA);
  trace.call_failed("cuEventRecord", kA, kEvent, kInvalidHandle);
  trace.event_wait(kB, kEvent);
  const Judged out = judged(trace);
  ASSERT_EQ(out.misuses.size(), 1u);
  EXPECT_EQ(out.misuses[0].explanation,
            "a wait for an event that was never recorded does nothing. cuEventRecord(event 1) failed with invalid "
            "resource handle (400): nothing was recorded.");
  EXPECT_EQ(out.misuses[0].related.size(), 2u);
}

}  // namespace
}  // namespace streamsan::judge
