// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints about streams and events, likewise, and what holds for all hints.
#include <gtest/gtest.h>

#include "judge/tests/hints_program.h"

namespace streamsan::judge {
namespace {

enum class Legacy { Independent, Needed, BothDepend, Waited, WaitedForEvent, NonBlockingStreams, OneStream };

TraceBuilder through_legacy(Legacy how, int times) {
  TraceBuilder trace = program(how == Legacy::NonBlockingStreams ? NonBlocking::Yes : NonBlocking::No);
  trace.event_create(kEvent, 2);
  for (int i = 0; i < times; ++i) {
    kernel(trace, kA, kBuffer, 0x400500);
    if (how == Legacy::WaitedForEvent) trace.event_record(kA, kEvent);
    if (how == Legacy::Waited) trace.sync_stream(kA);
    kernel(trace, trace::kLegacyStream, how == Legacy::Needed ? kBuffer : kThird, 0x400510);
    if (how == Legacy::WaitedForEvent) trace.event_wait(kB, kEvent);
    const std::uint64_t stream = how == Legacy::OneStream ? kA : kB;
    const bool dependent = how == Legacy::BothDepend || how == Legacy::Needed;
    kernel(trace, stream, dependent ? kBuffer : kSecond, 0x400520);
    trace.sync_context();
  }
  return trace;
}

TEST(LegacySerialisation, BetweenIndependentStreams) {
  EXPECT_EQ(names(through_legacy(Legacy::Independent, 7)), Names{});
  const TraceBuilder trace = through_legacy(Legacy::Independent, 8);
  EXPECT_EQ(names(trace), Names{"legacy-serialisation"});
  const Finding f = hinted(trace).findings[0];
  EXPECT_EQ(f.message,
            "kernel step(float*) in the legacy default stream makes independent streams wait for each other.");
  EXPECT_EQ(
      f.explanation,
      "8 times it stood between work of two blocking streams that share no memory, and nothing had waited for the "
      "first: so op #2 between op #1 in stream 1 and op #3 in stream 2. It starts after all work in blocking "
      "streams, and their later work starts after it.");
  EXPECT_EQ(f.fix,
            "create the streams with CU_STREAM_NON_BLOCKING and let those that need its results wait for an event.");
  ASSERT_EQ(f.related.size(), 3u);
  EXPECT_EQ(f.related[0].stream.name, "the legacy default stream");
  EXPECT_EQ(f.related[1].stream.name, "stream 1");
  EXPECT_EQ(f.related[2].stream.name, "stream 2");
}

TEST(LegacySerialisation, SilentWithAReason) {
  for (const Legacy how : {Legacy::Needed, Legacy::BothDepend, Legacy::Waited, Legacy::WaitedForEvent,
                           Legacy::NonBlockingStreams, Legacy::OneStream}) {
    EXPECT_EQ(names(through_legacy(how, 8)), Names{}) << static_cast<int>(how);
  }
}

TEST(LegacySerialisation, NothingIsSaidOfKernelsWithoutPointers) {
  TraceBuilder trace = program(NonBlocking::No);
  for (int i = 0; i < 8; ++i) {
    kernel(trace, kA, kBuffer);
    trace.at({0x400510}).launch(trace::kLegacyStream, kKernel, {});
    kernel(trace, kB, kSecond);
    trace.sync_context();
  }
  EXPECT_EQ(names(trace), Names{});
}

enum class Turns { HostWaits, EventChain, OneWay, Free, Phases, Threads, AnotherWaits };

TraceBuilder taking_turns(Turns how, int times) {
  TraceBuilder trace = program();
  trace.event_create(kEvent, 2);
  trace.event_create(kOther, 2);
  const auto pass = [&trace](std::uint64_t from, std::uint64_t to, std::uint64_t event) {
    trace.at({0x400600}).event_record(from, event);
    trace.at({0x400610}).event_wait(to, event);
  };
  if (how == Turns::Phases) {
    for (int i = 0; i < times; ++i) kernel(trace, kA, kBuffer);
    trace.sync_context();
    for (int i = 0; i < times; ++i) kernel(trace, kB, kSecond);
    return trace;
  }
  for (int i = 0; i < times; ++i) {
    kernel(trace, kA, kBuffer);
    if (how == Turns::HostWaits || how == Turns::Threads) trace.at({0x400620}).sync_stream(kA);
    if (how == Turns::EventChain || how == Turns::OneWay) pass(kA, kB, kEvent);
    if (how == Turns::AnotherWaits) trace.on_thread(2).at({0x400620}).sync_stream(kA), trace.on_thread(1);
    if (how == Turns::Threads) trace.on_thread(2);
    kernel(trace, kB, kSecond);
    if (how == Turns::HostWaits || how == Turns::Threads) trace.at({0x400620}).sync_stream(kB);
    if (how == Turns::AnotherWaits) trace.on_thread(2).at({0x400620}).sync_stream(kB), trace.on_thread(1);
    if (how == Turns::EventChain) pass(kB, kA, kOther);
    trace.on_thread(1);
  }
  return trace;
}

TEST(StreamsNeverOverlap, TheHostWaitsEachTime) {
  EXPECT_EQ(names(taking_turns(Turns::HostWaits, 8)), Names{});
  const TraceBuilder trace = taking_turns(Turns::HostWaits, 9);
  EXPECT_EQ(names(trace), Names{"streams-never-overlap"});
  const Finding f = hinted(trace).findings[0];
  EXPECT_EQ(f.message,
            "stream 1 and stream 2 never overlap: each piece of work in one comes after all before it in "
            "the other.");
  EXPECT_EQ(f.explanation,
            "18 pieces of work took 17 turns from stream to stream, and each was ordered after the one before: 17 by "
            "cuStreamSynchronize, in which the host waited. In 17 of them the two pieces share no memory. Streams that "
            "take turns are not faster than one.");
  EXPECT_EQ(f.fix,
            "do not order independent work there (--syncs tells what the waits are needed for), or use one stream.");
  ASSERT_EQ(f.related.size(), 1u);
  EXPECT_EQ(f.related[0].what, "cuStreamSynchronize");
}

TEST(StreamsNeverOverlap, TheCallThatOrdersIsNamedAndNotTheLastOne) {
  TraceBuilder trace = program();
  trace.event_create(kEvent, 2);
  for (int i = 0; i < 9; ++i) {
    for (const auto& [stream, buffer] : {std::pair(kA, kBuffer), std::pair(kB, kSecond)}) {
      kernel(trace, stream, buffer);
      trace.at({0x400620}).sync_stream(stream);
      trace.at({0x400630}).sync_event(kEvent);
    }
  }
  const std::string evidence = hinted(trace).findings.at(0).explanation;
  EXPECT_NE(evidence.find("17 by cuStreamSynchronize, in which the host waited."), std::string::npos) << evidence;
}

TEST(StreamsNeverOverlap, ByAChainOfEvents) {
  const TraceBuilder trace = taking_turns(Turns::EventChain, 9);
  EXPECT_EQ(names(trace), Names{"streams-never-overlap"});
  EXPECT_NE(hinted(trace).findings[0].explanation.find("17 by cuStreamWaitEvent. "), std::string::npos);
}

TEST(StreamsNeverOverlap, SilentWhereSomethingMayOverlap) {
  for (const Turns how : {Turns::OneWay, Turns::Free, Turns::Phases, Turns::Threads, Turns::AnotherWaits}) {
    EXPECT_EQ(names(taking_turns(how, 100)), Names{}) << static_cast<int>(how);
  }
}

TEST(StreamsNeverOverlap, NotBesideTheHintThatNamesItsReason) {
  EXPECT_EQ(names(through_legacy(Legacy::Independent, 50)), Names{"legacy-serialisation"});
  const TraceBuilder trace = through_legacy(Legacy::Needed, 50);
  ASSERT_EQ(names(trace), Names{"streams-never-overlap"});
  const Finding f = hinted(trace).findings[0];
  EXPECT_NE(
      f.explanation.find("50 by kernel step(float*) in the legacy default stream, 49 by cuCtxSynchronize, in which "
                         "the host waited. In 0 of them the two pieces share no memory."),
      std::string::npos)
      << f.explanation;
  EXPECT_EQ(f.fix, "let the work of one turn use other buffers than that of the next, or use one stream.");
}

TEST(StreamsNeverOverlap, OneOverlapInTheWholeRunIsEnough) {
  TraceBuilder trace = taking_turns(Turns::EventChain, 50);
  kernel(trace, kB, kSecond);
  kernel(trace, kA, kBuffer);
  EXPECT_EQ(names(trace), Names{});
}

TEST(StreamsNeverOverlap, NothingIsSaidWhereOrderIsNotSeen) {
  TraceBuilder trace = taking_turns(Turns::EventChain, 50);
  trace.unmodelled("cuCtxWaitEvent", 1);
  EXPECT_EQ(names(trace), Names{});
}

TraceBuilder ordering_events(int times, std::uint64_t flags, bool timed = false) {
  TraceBuilder trace = program();
  trace.at({0x400700}).event_create(kEvent, flags);
  for (int i = 0; i < times; ++i) {
    kernel(trace, kA, kBuffer);
    trace.at({0x400710}).event_record(kA, kEvent);
    trace.at({0x400720}).event_wait(kB, kEvent);
    kernel(trace, kB, kBuffer);
    kernel(trace, kA, kSecond);
  }
  if (timed) trace.add(Kind::EventTime, "cuEventElapsedTime", {kEvent, kEvent});
  return trace;
}

TEST(TimingEvent, UsedForOrderOnly) {
  EXPECT_EQ(names(ordering_events(999, 0)), Names{});
  const TraceBuilder trace = ordering_events(1000, 0);
  EXPECT_EQ(names(trace), Names{"timing-event"});
  const Finding f = hinted(trace).findings[0];
  EXPECT_EQ(f.message, "1 event is created with timing here and used for order only.");
  EXPECT_EQ(
      f.explanation,
      "recorded 1000 times, waited for 1000 times by streams and 0 times by the host; cuEventElapsedTime was never "
      "asked about it. Each record writes a time stamp, and a wait for it takes longer.");
  EXPECT_EQ(f.fix, "create it with CU_EVENT_DISABLE_TIMING.");
}

TEST(TimingEvent, SilentIfItMeasuresOrMightHave) {
  EXPECT_EQ(names(ordering_events(1000, 2)), Names{});
  EXPECT_EQ(names(ordering_events(1000, 0, true)), Names{});
  EXPECT_EQ(hinted(ordering_events(1000, 0), false).findings.size(), 0u);
  EXPECT_EQ(hinted(ordering_events(1000, 0), true, false).findings.size(), 0u);
}

TEST(Hints, TheCostliestComesFirst) {
  TraceBuilder trace = ordering_events(1200, 0);
  for (int i = 0; i < 10; ++i) {
    upload(trace, 16 * kMiB);
    kernel(trace, kA, kBuffer);
  }
  EXPECT_EQ(names(trace), (Names{"pageable-copy", "timing-event"}));
}

TEST(Hints, Texts) {
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1000), "1000 bytes");
  EXPECT_EQ(bytes_text(65536), "64 KiB");
  EXPECT_EQ(bytes_text(3 * kMiB / 2), "1.5 MiB");
  EXPECT_EQ(bytes_text(200 * kMiB + 1), "200 MiB");
  EXPECT_EQ(bytes_text(60 * kMiB + 1), "60 MiB");
  EXPECT_EQ(bytes_text(60 * kMiB - 1), "60 MiB");
  EXPECT_EQ(time_text(45'678), "45 us");
  EXPECT_EQ(time_text(12'345'678), "12.3 ms");
  EXPECT_EQ(time_text(1'500'000'000), "1.5 s");
}

}  // namespace
}  // namespace streamsan::judge
