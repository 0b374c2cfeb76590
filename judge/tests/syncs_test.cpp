// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces whose synchronisation is judged, through all replays: what each wait is good for, and what is said about it.
// Each recommendation has a twin that follows it and about which nothing is left to say.
#include "judge/syncs.h"

#include <gtest/gtest.h>

#include "judge/explain_syncs.h"
#include "judge/sync_groups.h"
#include "judge/sync_replay.h"
#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::MemoryKind;
using report::Finding;
using trace::Known;
using trace::NonBlocking;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kC = 0x3000, kEvent = 0xE0;
constexpr std::uint64_t kX = 0x7000'0000'0000, kY = 0x7000'0010'0000, kZ = 0x7000'0020'0000, kPinned = 0x5000'0000;
constexpr std::uint64_t kBytes = 8192;
constexpr std::uint64_t kWrite = 1, kRead = 2;

TraceBuilder program(NonBlocking kind = NonBlocking::Yes) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.function(kWrite, "_Z5writePf");
  trace.function(kRead, "_Z4readPKf");
  trace.footprint(kWrite, {piece(0, Piece::Mode::Write, 0, kBytes)});
  trace.footprint(kRead, {piece(0, Piece::Mode::Read, 0, kBytes)});
  for (std::uint64_t stream : {kA, kB, kC}) trace.stream_create(stream, kind);
  trace.event_create(kEvent);
  for (std::uint64_t buffer : {kX, kY, kZ}) trace.at({0x401000}).alloc(buffer, kBytes);
  trace.at({0x401010}).alloc(kPinned, kBytes, MemoryKind::Pinned);
  return trace;
}
void write(TraceBuilder& trace, std::uint64_t stream, std::uint64_t buffer, std::uint64_t at = 0x401100) {
  trace.at({at}).launch_known(stream, kWrite, kWrite, Known::Measured, {pointer_word(0, buffer)}, kBytes);
}
void read(TraceBuilder& trace, std::uint64_t stream, std::uint64_t buffer, std::uint64_t at = 0x401200) {
  trace.at({at}).launch_known(stream, kRead, kRead, Known::Measured, {pointer_word(0, buffer)}, kBytes);
}

struct Syncs {
  SyncJudgement judgement;
  std::vector<Finding> findings;
  [[nodiscard]] const report::SyncReport& at(std::uint64_t offset) const {
    static const report::SyncReport none;
    const Finding& finding = finding_at(offset);
    return finding.sync ? *finding.sync : none;
  }
  [[nodiscard]] const Finding& finding_at(std::uint64_t offset) const {
    for (const Finding& finding : findings) {
      if (!finding.sync->stack.empty() && finding.sync->stack[0].offset == offset) return finding;
    }
    static const Finding none;
    ADD_FAILURE() << "no site at " << offset;
    return none;
  }
};

Syncs judged_syncs(const TraceBuilder& trace, SyncInput input) {
  TemporaryFile file(trace.bytes());
  input.feed = [&](Judge& judge) {
    std::string error;
    auto reader = trace::Reader::open(file.path(), {}, error);
    trace::Item item;
    while (reader->next(item) == trace::Step::Record) judge.consume(item);
    return true;
  };
  Syncs out{.judgement = judge_syncs(input), .findings = {}};
  Symbolizer none({.enabled = false, .tool = {}});
  out.findings = explain(out.judgement, none);
  return out;
}

Syncs judged_syncs(const TraceBuilder& trace, std::vector<std::string> doubts = {}, std::vector<IdleMemory> idle = {}) {
  SyncInput input;
  input.doubts = std::move(doubts);
  input.idle = std::move(idle);
  return judged_syncs(trace, std::move(input));
}

/// "unneeded", or "unneeded idle kept", for the sites in the order in which they were met.
std::vector<std::string> verdicts(const Syncs& syncs) {
  std::vector<std::string> out;
  for (const Finding& finding : syncs.findings) {
    const report::SyncReport& sync = *finding.sync;
    std::string text = std::string(name(sync.waits)) + " " + name(sync.verdict);
    if (sync.idle_calls == sync.calls) text += " idle";
    if (sync.group) text += sync.removable ? " removable" : " kept";
    out.push_back(std::move(text));
  }
  return out;
}
using List = std::vector<std::string>;

TEST(Syncs, BetweenKernelsOfOneStreamIsUnneeded) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    if (!fixed) trace.at({0x401150}).sync_context();
    read(trace, kA, kX);
    trace.at({0x401300}).sync_stream(kA);
    const Syncs syncs = judged_syncs(trace);
    if (fixed) {
      EXPECT_EQ(verdicts(syncs), List{"stream needed"});
      continue;
    }
    EXPECT_EQ(verdicts(syncs), (List{"device unneeded", "stream needed"}));
    const Finding& f = syncs.finding_at(0x1150);
    EXPECT_EQ(f.kind, report::Kind::UnneededSync);
    EXPECT_EQ(f.severity, report::Severity::Note);
    EXPECT_EQ(f.hazard.text(), "unneeded");
    EXPECT_EQ(f.message, "cuCtxSynchronize is not needed in this run.");
    EXPECT_EQ(f.fix, "remove it.");
    EXPECT_EQ(f.sync->evidence, report::KernelBytes::Measured);
    EXPECT_TRUE(f.sync->removable);
    EXPECT_EQ(syncs.at(0x1300).reasons,
              List{"nothing else waits for kernel read(float const*) on stream 1 before the program ends."});
  }
}

TEST(Syncs, WhatAKernelUsesBesidesItsArgumentsIsUnknown) {
  for (bool measured : {false, true}) {
    TraceBuilder trace = program();
    if (measured) {
      write(trace, kA, kX);
    } else {
      trace.at({0x401100}).launch(kA, kWrite, {pointer_word(0, kX)}, kBytes);
    }
    trace.at({0x401150}).sync_context();
    read(trace, kA, kX);
    trace.at({0x401300}).sync_stream(kA);
    const Syncs syncs = judged_syncs(trace);
    EXPECT_EQ(syncs.at(0x1150).verdict, measured ? report::Verdict::Unneeded : report::Verdict::Unknown);
    if (measured) continue;
    EXPECT_EQ(syncs.at(0x1150).evidence, report::KernelBytes::Inferred);
    EXPECT_EQ(
        syncs.at(0x1150).reasons,
        List{"it is not known what memory is used by kernel write(float*) besides what the arguments lead to (module "
             "variables, constants, pointers kept in memory). Nothing else needs the call. "
             "--footprints=measured finds it out, except for constants."});
  }
}

TEST(Syncs, AnEventIsNarrowerThanTheHost) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    if (fixed) {
      trace.at({0x401150}).event_record(kA, kEvent);
      trace.at({0x401160}).event_wait(kB, kEvent);
    } else {
      trace.at({0x401150}).sync_stream(kA);
    }
    read(trace, kB, kX);
    trace.at({0x401300}).sync_context();
    const Syncs syncs = judged_syncs(trace);
    if (fixed) {
      EXPECT_EQ(verdicts(syncs), List{"device needed"});
      EXPECT_EQ(hazards_of(judged(trace).findings), HazardList{});
      continue;
    }
    ASSERT_EQ(verdicts(syncs), (List{"stream narrower", "device needed"}));
    const Finding& f = syncs.findings[0];
    EXPECT_EQ(
        f.message,
        "cuStreamSynchronize is needed only between kernel write(float*) on stream 1 and kernel read(float const*) "
        "on stream 2.");
    EXPECT_EQ(f.sync->replacement, "cuEventRecord(event, stream 1) and cuStreamWaitEvent(stream 2, event)");
    ASSERT_EQ(f.sync->orders.size(), 1u);
    EXPECT_EQ(f.sync->orders[0].earlier.op, 1u);
    EXPECT_EQ(f.sync->orders[0].later.op, 2u);
    EXPECT_EQ(f.sync->orders[0].buffer->bytes, kBytes);
  }
}

TEST(Syncs, OneStreamIsNarrowerThanTheDevice) {
  for (const bool busy : {true, false}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    if (busy) write(trace, kB, kY);
    trace.at({0x401150}).sync_context();
    trace.at({0x401160}).free(kX);
    if (busy) trace.at({0x401170}).sync_stream(kB);
    const Syncs syncs = judged_syncs(trace);
    if (!busy) {
      EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Needed) << "one stream is all there is";
      continue;
    }
    EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Narrower);
    EXPECT_EQ(syncs.at(0x1150).replacement, "cuStreamSynchronize(stream 1)");
  }
}

TEST(Syncs, AnEventBehindWhatIsNeededIsNarrowerThanTheStream) {
  for (const bool behind : {true, false}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    if (behind) write(trace, kA, kY, 0x401110);
    trace.at({0x401150}).sync_stream(kA);
    trace.at({0x401160}).free(kX);
    trace.at({0x401170}).sync_stream(kA);
    const Syncs syncs = judged_syncs(trace);
    if (!behind) {
      EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Needed)
          << "an event behind the last operation is the whole stream";
      continue;
    }
    EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Narrower);
    EXPECT_EQ(syncs.at(0x1150).replacement,
              "cuEventRecord(event, stream 1) right after kernel write(float*), and cuEventSynchronize(event)");
  }
}

TEST(Syncs, ItMayMoveToWhatDependsOnIt) {
  for (const bool work : {true, false}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    trace.at({0x401150}).sync_stream(kA);
    if (work) write(trace, kB, kY, 0x401110);
    trace.at({0x401160}).free(kX);
    trace.at({0x401170}).sync_context();
    const Syncs syncs = judged_syncs(trace);
    if (!work) {
      EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Needed) << "nothing is won";
      continue;
    }
    EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Narrower);
    EXPECT_EQ(syncs.at(0x1150).replacement, "the same call, moved to right before cuMemFree");
  }
}

TEST(Syncs, ItMayMoveToTheHostsTouchWhateverElseTheHostTouches) {
  for (const int others : {0, 3}) {
    TraceBuilder trace = program();
    for (int i = 0; i < others; ++i) trace.at({0x401400}).host_access(kPinned + 4096, 1, false);
    const std::uint64_t copy = trace.at({0x401120}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kX, 64);
    trace.at({0x401150}).sync_stream(kA);
    write(trace, kB, kY, 0x401110);
    trace.at({0x401160}).host_access(kPinned, 1, false);
    trace.at({0x401170}).sync_context();
    const Syncs syncs = judged_syncs(trace, {}, {{.position = copy, .range = {kPinned, kPinned + 64}}});
    EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Narrower) << others;
  }
}

TEST(Syncs, TwoThatDoTheSameAreAGroup) {
  for (const bool fixed : {false, true}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    trace.at({0x401150}).sync_stream(kA);
    if (!fixed) trace.at({0x401160}).sync_context();
    trace.at({0x401170}).free(kX);
    const Syncs syncs = judged_syncs(trace);
    if (fixed) {
      EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Needed);
      continue;
    }
    EXPECT_EQ(verdicts(syncs), (List{"stream unneeded kept", "device unneeded idle removable", "free unneeded idle"}));
    EXPECT_EQ(syncs.finding_at(0x1160).fix, "remove it; cuStreamSynchronize must stay.");
  }
}

TEST(Syncs, TheLastWaitStays) {
  TraceBuilder trace = program();
  write(trace, kA, kX);
  trace.at({0x401150}).sync_stream(kA);
  trace.at({0x401160}).sync_context();
  const Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unneeded);
  EXPECT_EQ(syncs.at(0x1160).verdict, report::Verdict::Unneeded);
  EXPECT_NE(syncs.at(0x1150).removable, syncs.at(0x1160).removable) << "one of the two has to stay";
}

TEST(Syncs, WhatTheHostReadsIsNotSeen) {
  TraceBuilder trace = program();
  trace.at({0x401100}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kX, kBytes);
  trace.at({0x401150}).sync_stream(kA);
  const std::uint64_t copied = trace.at({0x401110}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kX, kBytes);
  trace.at({0x401160}).sync_stream(kA);
  trace.at({0x401170}).sync_stream(kA);
  trace.at({0x401110}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kX, kBytes);
  trace.at({0x401180}).sync_context();
  Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unknown);
  EXPECT_EQ(syncs.at(0x1150).reasons,
            List{"the host may read what cuMemcpyDtoHAsync (device to host) has written, once it has waited: what the "
                 "host does with pinned host memory was not watched at that time (at most 4 MiB are watched, less if "
                 "--host_guard_cost is used up)."});
  EXPECT_EQ(syncs.at(0x1160).verdict, report::Verdict::Unknown);
  // It was watched: the host did nothing.
  syncs = judged_syncs(trace, {}, {{.position = copied, .range = {kPinned, kPinned + kBytes}}});
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unknown);
  EXPECT_EQ(syncs.at(0x1160).verdict, report::Verdict::Unneeded);
}

TEST(Syncs, AReadByTheHostThatIsSeenNeedsTheWait) {
  TraceBuilder trace = program();
  trace.at({0x401100}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kX, kBytes);
  trace.at({0x401150}).sync_stream(kA);
  trace.at({0x401200}).host_access(kPinned, 8, false);
  const Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Needed);
  ASSERT_EQ(syncs.at(0x1150).orders.size(), 1u);
  EXPECT_EQ(syncs.at(0x1150).orders[0].later.what, "the host");
}

TEST(Syncs, GraphsAndHostFunctionsAreNotKnown) {
  TraceBuilder graph = program();
  graph.at({0x401100}).graph_launch(kA, 0x77);
  graph.at({0x401150}).sync_stream(kA);
  write(graph, kB, kX);
  graph.at({0x401170}).sync_context();
  EXPECT_EQ(judged_syncs(graph).at(0x1150).verdict, report::Verdict::Unknown);
  TraceBuilder function = program();
  function.at({0x401100}).add(trace::Kind::HostFunction, "cuLaunchHostFunc", {kA, TraceBuilder::kContext});
  function.at({0x401150}).sync_stream(kA);
  write(function, kB, kX);
  function.at({0x401170}).sync_context();
  const Syncs syncs = judged_syncs(function);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unknown);
  EXPECT_NE(syncs.at(0x1150).reasons[0].find("host function"), std::string::npos);
}

TEST(Syncs, ClocksAndEventTimes) {
  for (const bool read : {true, false}) {
    TraceBuilder trace = program();
    write(trace, kA, kX);
    trace.at({0x401150}).sync_stream(kA);
    if (read) trace.add_text(trace::Kind::ClockRead, {13}, "clock_gettime");
    write(trace, kA, kX, 0x401110);
    trace.at({0x401120}).event_record(kA, kEvent);
    trace.at({0x401160}).sync_event(kEvent);
    if (read) trace.add(trace::Kind::EventTime, "cuEventElapsedTime", {kEvent, kEvent});
    write(trace, kA, kX, 0x401110);
    trace.at({0x401170}).sync_stream(kA);
    const Syncs syncs = judged_syncs(trace);
    EXPECT_EQ(syncs.at(0x1150).verdict, read ? report::Verdict::Timing : report::Verdict::Unneeded);
    EXPECT_EQ(syncs.at(0x1160).verdict, read ? report::Verdict::Timing : report::Verdict::Unneeded);
    if (!read) continue;
    EXPECT_EQ(syncs.at(0x1150).reasons, List{"clock_gettime() is called right after it."});
    EXPECT_EQ(syncs.finding_at(0x1160).message, "cuEventSynchronize is needed for timing only.");
  }
}

TEST(Syncs, AClockThatCudaReadsForItselfIsNoReasonToWait) {
  TraceBuilder trace = program();
  write(trace, kA, kX);
  trace.at({0x401150}).sync_stream(kA);
  trace.at({0x401900}).add_text(trace::Kind::ClockRead, {12}, "gettimeofday");
  write(trace, kA, kX, 0x401110);
  trace.at({0x401160}).sync_stream(kA);
  trace.at({0x401900}).add_text(trace::Kind::ClockRead, {12}, "gettimeofday");
  trace.at({0x401910}).add_text(trace::Kind::ClockRead, {5}, "clock");
  write(trace, kA, kX, 0x401110);
  trace.at({0x401170}).sync_stream(kA);
  SyncInput input;
  input.made_by_cuda = [](const Places& places, std::span<const ordering::SiteId> calls) {
    EXPECT_EQ(calls.size(), 2u) << "each place once";
    std::vector<ordering::SiteId> out(calls.begin(), calls.end());
    std::erase_if(out, [&](ordering::SiteId call) { return places.frames(call)[0].offset != 0x1900; });
    return out;
  };
  const Syncs syncs = judged_syncs(trace, std::move(input));
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unneeded);
  EXPECT_EQ(syncs.at(0x1160).verdict, report::Verdict::Timing);
  EXPECT_EQ(syncs.at(0x1160).reasons, List{"clock() is called right after it."});
}

TEST(Syncs, DoubtsKeepEverything) {
  TraceBuilder trace = program();
  write(trace, kA, kX);
  trace.at({0x401150}).sync_stream(kA);
  write(trace, kA, kX, 0x401110);
  trace.at({0x401160}).sync_stream(kA);
  read(trace, kB, kX);
  const Syncs syncs = judged_syncs(trace, {"the trace is not whole"});
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unknown);
  EXPECT_EQ(syncs.at(0x1150).reasons, List{"the trace is not whole."});
  EXPECT_EQ(syncs.at(0x1160).verdict, report::Verdict::Needed) << "nothing narrower is recommended";
}

TEST(Syncs, WhatTheRecorderSaysIsADoubtIfItIsAboutOrder) {
  for (const auto& [message, verdict] :
       {std::pair("call stacks have no lines of Python: why", report::Verdict::Unneeded),
        std::pair("footprints: they are inferred", report::Verdict::Unneeded),
        std::pair("the trace is full", report::Verdict::Unknown)}) {
    TraceBuilder trace = program();
    trace.message(message);
    write(trace, kA, kX);
    trace.at({0x401150}).sync_stream(kA);
    write(trace, kA, kX, 0x401110);
    trace.at({0x401160}).sync_context();
    EXPECT_EQ(judged_syncs(trace).at(0x1150).verdict, verdict) << message;
  }
}

TEST(Syncs, WhatMpiDoesIsNotSeen) {
  TraceBuilder trace = program();
  trace.module("/opt/mpi/lib/libmpi.so.40", 0x600000, 0x600000, 0x700000);
  write(trace, kA, kX);
  trace.at({0x401150}).sync_stream(kA);
  write(trace, kA, kX, 0x401110);
  trace.at({0x401160}).sync_context();
  const Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unknown);
  EXPECT_EQ(syncs.at(0x1150).reasons,
            List{"what libmpi.so.40 does with memory of the device, or pinned memory, is not seen."});
}

TEST(Syncs, WhatIsAdvisedGoesTogether) {
  // The event sync is unneeded because of the stream sync behind it, which an event wait could replace: not both.
  TraceBuilder trace = program();
  write(trace, kA, kX);
  trace.at({0x401140}).event_record(kA, kEvent);
  trace.at({0x401150}).sync_event(kEvent);
  write(trace, kA, kY, 0x401110);
  trace.at({0x401160}).sync_stream(kA);
  read(trace, kB, kY);
  trace.at({0x401170}).free(kX);
  trace.at({0x401180}).sync_context();
  const Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unneeded);
  EXPECT_EQ(syncs.at(0x1160).verdict, report::Verdict::Narrower);
  EXPECT_NE(syncs.at(0x1150).removable, syncs.at(0x1160).removable);
}

TEST(Syncs, BarriersOfTheLegacyStream) {
  for (const bool depends : {false, true}) {
    TraceBuilder trace = program(NonBlocking::No);
    write(trace, kA, kX);
    write(trace, trace::kLegacyStream, depends ? kX : kY, 0x401110);
    write(trace, kB, kZ, 0x401120);
    trace.at({0x401170}).sync_context();
    const Syncs syncs = judged_syncs(trace);
    EXPECT_EQ(syncs.at(0x1110).waits, report::Waits::Barrier);
    EXPECT_EQ(syncs.at(0x1110).verdict, depends ? report::Verdict::Needed : report::Verdict::Unneeded);
  }
  TraceBuilder alone = program();
  write(alone, trace::kLegacyStream, kX);
  alone.at({0x401170}).sync_context();
  EXPECT_EQ(verdicts(judged_syncs(alone)), List{"device needed"}) << "there is nothing to order";
}

TEST(Syncs, AFreeWaitsForAll) {
  TraceBuilder trace = program();
  write(trace, kA, kX);
  trace.at({0x401150}).free(kY);
  read(trace, kA, kX);
  trace.at({0x401170}).sync_context();
  const Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).waits, report::Waits::Free);
  EXPECT_EQ(syncs.at(0x1150).verdict, report::Verdict::Unneeded);
}

TEST(Syncs, TimesAndCalls) {
  TraceBuilder trace = program();
  for (int turn = 0; turn < 3; ++turn) {
    if (turn != 2) write(trace, kA, kX);
    const std::uint64_t at =
        trace.at({0x401150}).add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
    trace.add(trace::Kind::CallEnd, "cuStreamSynchronize", {at, 1'000'000, 3'500'000});
  }
  const Syncs syncs = judged_syncs(trace);
  EXPECT_EQ(syncs.at(0x1150).calls, 3u);
  EXPECT_EQ(syncs.at(0x1150).idle_calls, 1u);
  EXPECT_EQ(syncs.at(0x1150).blocked_ms, 7.5);
  EXPECT_EQ(syncs.at(0x1150).stream.name, "stream 1");
}

TEST(SyncCover, TheFewestAreKept) {
  const SyncCover none = cover({}, {false, false}, {1, 1});
  EXPECT_TRUE(none.kept.empty());
  const SyncCover one = cover({{0, 1}, {1, 2}}, {false, false, false}, {1, 1, 1});
  EXPECT_EQ(one.kept, std::vector<std::uint32_t>{1});
  EXPECT_EQ(one.group, (std::vector<std::uint32_t>{1, 1, 1}));
  const SyncCover idle = cover({{0, 1}}, {true, false, false}, {1, 1, 1});
  EXPECT_EQ(idle.kept, std::vector<std::uint32_t>{1});
  EXPECT_EQ(idle.group, (std::vector<std::uint32_t>{1, 1, 0}));
  // In a loop, and behind it.
  const SyncCover loop = cover({{0, 1}, {0, 1}}, {false, true}, {100, 1});
  EXPECT_EQ(loop.kept, (std::vector<std::uint32_t>{1}));
  const SyncCover two = cover({{0, 1}, {2, 3}}, {false, false, false, false}, {1, 1, 1, 1});
  EXPECT_EQ(two.kept, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(two.group, (std::vector<std::uint32_t>{1, 1, 2, 2}));
}

}  // namespace
}  // namespace streamsan::judge
