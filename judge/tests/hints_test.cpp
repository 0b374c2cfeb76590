// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints: each at its threshold and beside a program that does the same with a good reason.
#include "judge/hints.h"

#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::MemoryKind;
using report::Finding;
using trace::FreeKind;
using trace::Kind;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0, kOther = 0xE1, kKernel = 7;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kSecond = 0x7000'1000'0000, kThird = 0x7000'2000'0000;
constexpr std::uint64_t kHost = 0x5000'0000, kMiB = 1 << 20, kKiB = 1 << 10;
constexpr std::uint64_t kLibrary = 0x900000;  // an address in libcublas

Hinted hinted(const TraceBuilder& trace, bool event_times_told = true, bool whole_run = true) {
  TemporaryFile file(trace.bytes());
  std::string error;
  auto reader = trace::Reader::open(file.path(), {}, error);
  EXPECT_TRUE(reader) << error;
  Hazards hazards(1000);
  Judge judge({}, hazards);
  hazards.take_names_from(judge.handles());
  Hints hints(judge, event_times_told);
  judge.add_observer(hints);
  trace::Item item;
  while (reader->next(item) == trace::Step::Record) judge.consume(item);
  EXPECT_EQ(reader->problem(), "");
  Symbolizer none({.enabled = false, .tool = {}});
  return hints.explain(none, whole_run);
}

std::vector<std::string> names(const TraceBuilder& trace) {
  std::vector<std::string> out;
  for (const Finding& f : hinted(trace).findings) out.push_back(f.hazard);
  return out;
}
using Names = std::vector<std::string>;

TraceBuilder program(NonBlocking kind = NonBlocking::Yes) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.module("/usr/lib/libcublas.so.13", 0x900000, 0x900000, 0xA00000);
  trace.function(kKernel, "_Z4stepPf");
  trace.at({0x400100});
  for (std::uint64_t stream : {kA, kB}) trace.stream_create(stream, kind);
  for (std::uint64_t buffer : {kBuffer, kSecond, kThird}) trace.alloc(buffer, 16 * kMiB);
  return trace;
}

void kernel(TraceBuilder& trace, std::uint64_t stream, std::uint64_t buffer, std::uint64_t place = 0x400200) {
  trace.at({place}).launch(stream, kKernel, {trace::pointer_word(0, buffer)});
}

std::uint64_t upload(TraceBuilder& trace, std::uint64_t bytes, std::uint64_t host = kHost) {
  return trace.at({0x400300}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, host, bytes);
}

void download(TraceBuilder& trace, std::uint64_t bytes, std::uint64_t host = kHost) {
  trace.at({0x400310}).copy_async("cuMemcpyDtoHAsync_v2", kA, host, kBuffer, bytes);
}

TEST(PageableCopy, UploadsBetweenKernels) {
  for (const std::uint64_t turns : {3u, 4u}) {
    TraceBuilder trace = program();
    for (std::uint64_t i = 0; i < turns; ++i) {
      upload(trace, 16 * kMiB / turns);
      kernel(trace, kA, kBuffer);
    }
    EXPECT_EQ(names(trace), turns == 4 ? Names{"pageable-copy"} : Names{}) << turns;
    if (turns != 4) continue;
    const Finding f = hinted(trace).findings[0];
    EXPECT_EQ(f.kind, report::Kind::Hint);
    EXPECT_EQ(f.severity, report::Severity::Note);
    EXPECT_EQ(f.cause, "pageable-copy");
    EXPECT_EQ(f.message, "4 asynchronous copies from pageable host memory, 16 MiB in all.");
    EXPECT_EQ(
        f.explanation,
        "4 of 4 copies are of more than 64 KiB, 16 MiB in all, with kernels between 4 of them. A copy of pageable "
        "memory is staged through a pinned buffer of the driver, may block the host and does not overlap with "
        "other work.");
    EXPECT_EQ(f.fix, "use pinned memory, from cuMemAllocHost.");
    ASSERT_EQ(f.related.size(), 1u);
    EXPECT_EQ(f.related[0].what, "cuMemcpyHtoDAsync (host to device)");
    EXPECT_EQ(f.related[0].stream.name, "stream 1");
    EXPECT_EQ(f.related[0].op, 1u);
    EXPECT_EQ(f.fingerprint.size(), 16u);
  }
}

TEST(PageableCopy, InTheWordsOfTheFramework) {
  for (const auto& [module, advice] :
       {std::pair("/venv/torch/lib/libtorch_cuda.so", "pin_memory() or DataLoader(pin_memory=True)"),
        std::pair("/venv/cupy/_core/core.so", "cupyx.empty_pinned"), std::pair("/opt/lib/libx.so", "cuMemAllocHost")}) {
    TraceBuilder trace = program();
    trace.module(module, 0xB00000, 0xB00000, 0xC00000);
    for (int i = 0; i < 4; ++i) {
      trace.at({0xB00010, 0x400300}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, 16 * kMiB);
      kernel(trace, kA, kBuffer);
    }
    EXPECT_EQ(hinted(trace).findings.at(0).fix, "use pinned memory, from " + std::string(advice) + ".");
  }
}

TEST(PageableCopy, NothingIsSaidOfASetUp) {
  TraceBuilder trace = program();
  for (int i = 0; i < 100; ++i) upload(trace, kMiB);
  kernel(trace, kA, kBuffer);
  EXPECT_EQ(names(trace), Names{});
}

TEST(PageableCopy, NothingIsSaidOfSmallUploads) {
  for (const bool small : {true, false}) {
    TraceBuilder trace = program();
    for (int i = 0; i < 1000; ++i) {
      upload(trace, small ? 64 * kKiB : 64 * kKiB + 1);
      kernel(trace, kA, kBuffer);
    }
    EXPECT_EQ(names(trace), small ? Names{} : Names{"pageable-copy"});
  }
}

TEST(PageableCopy, NothingIsSaidOfPinnedManagedAndRegisteredMemory) {
  for (const MemoryKind kind : {MemoryKind::Pinned, MemoryKind::Managed, MemoryKind::Registered}) {
    TraceBuilder trace = program();
    trace.alloc(kHost, kMiB, kind);
    for (int i = 0; i < 100; ++i) {
      upload(trace, kMiB);
      kernel(trace, kA, kBuffer);
      download(trace, 4);
    }
    EXPECT_EQ(names(trace), Names{});
  }
}

TEST(PageableCopy, NothingIsSaidOfSynchronousCopies) {
  TraceBuilder trace = program();
  for (int i = 0; i < 100; ++i) {
    trace.at({0x400300}).copy("cuMemcpyHtoD_v2", trace::kLegacyStream, kBuffer, kHost, kMiB);
    kernel(trace, trace::kLegacyStream, kBuffer);
  }
  EXPECT_EQ(names(trace), Names{});
}

TEST(PageableCopy, DownloadsThatAWaitFollows) {
  for (const int wait : {0, 1, 2, 3}) {
    TraceBuilder trace = program();
    trace.event_create(kEvent);
    for (int i = 0; i < 16; ++i) {
      kernel(trace, kA, kBuffer);
      download(trace, 4);
      if (wait == 1) trace.sync_stream(kA);
      if (wait == 2) trace.sync_context();
      if (wait == 3) trace.event_record(kA, kEvent), trace.sync_event(kEvent);
    }
    kernel(trace, kA, kBuffer);
    EXPECT_EQ(names(trace), wait == 0 ? Names{"pageable-copy"} : Names{}) << wait;
    if (wait != 0) continue;
    const Finding f = hinted(trace).findings[0];
    EXPECT_EQ(f.message, "16 asynchronous copies to pageable host memory, 64 bytes in all.");
    EXPECT_EQ(f.explanation,
              "After 16 of 16 copies the host went on to launch kernels and waited for nothing: it had waited in the "
              "copy. A copy of pageable memory is staged through a pinned buffer of the driver, may block the host and "
              "does not overlap with other work.");
    EXPECT_EQ(f.fix, "use pinned memory, from cuMemAllocHost, and wait where the host needs the data.");
  }
}

TEST(PageableCopy, TimesOnTheGpuAreEvidence) {
  TraceBuilder trace = program();
  std::vector<std::uint64_t> positions;
  for (int i = 0; i < 4; ++i) {
    positions.push_back(upload(trace, 4 * kMiB));
    kernel(trace, kA, kBuffer);
  }
  for (const std::uint64_t position : positions) trace.add(Kind::GpuTime, "", {position, 1'000'000, 1'150'000});
  EXPECT_NE(hinted(trace).findings.at(0).explanation.find("They took 600 us on the GPU for 16 MiB."),
            std::string::npos);
}

TEST(PageableCopy, WhatALibraryDoesIsToldInOneLine) {
  TraceBuilder trace = program();
  for (int i = 0; i < 20; ++i) {
    for (const std::uint64_t place : {kLibrary + 0x10, kLibrary + 0x20}) {
      trace.at({place, 0x400300}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kMiB);
      kernel(trace, kA, kBuffer);
    }
  }
  const Hinted out = hinted(trace);
  EXPECT_EQ(out.findings.size(), 0u);
  EXPECT_EQ(out.in_libraries,
            "hints about what libraries do inside of themselves: pageable-copy in libcublas.so.13 (2 places)");
}

/// `turns` times: make, use, end.
TraceBuilder churn(std::uint64_t turns, MemoryKind kind, FreeKind end, std::uint64_t kernels = 1) {
  TraceBuilder trace = program();
  for (std::uint64_t i = 0; i <= turns; ++i) {
    trace.at({0x400400}).alloc(kHost, kMiB * (i % 2 + 1), kind);
    for (std::uint64_t k = 0; k < kernels; ++k) kernel(trace, kA, kBuffer);
    trace.sync_stream(kA);
    trace.at({0x400410}).free(kHost, end);
  }
  return trace;
}

TEST(AllocInLoop, MemoryMadeAndEndedBetweenKernels) {
  struct Case {
    MemoryKind kind;
    FreeKind end;
    std::uint64_t fewest;
  };
  for (const Case& each :
       {Case{MemoryKind::Device, FreeKind::Device, 16}, Case{MemoryKind::Managed, FreeKind::Device, 50},
        Case{MemoryKind::Pinned, FreeKind::Host, 8}, Case{MemoryKind::Registered, FreeKind::Unregister, 8}}) {
    EXPECT_EQ(names(churn(each.fewest - 1, each.kind, each.end)), Names{});
    EXPECT_EQ(names(churn(each.fewest, each.kind, each.end)), Names{"alloc-in-loop"});
  }
  const Finding f = hinted(churn(20, MemoryKind::Device, FreeKind::Device)).findings.at(0);
  EXPECT_EQ(f.message, "cuMemAlloc and cuMemFree are called again and again between kernels: 21 and 21 times.");
  EXPECT_EQ(
      f.explanation,
      "20 of 21 calls of cuMemAlloc come after the end of what an earlier one made, with 20 kernels in between in "
      "all, for "
      "1 MiB to 2 MiB. Both may synchronise the device.");
  EXPECT_EQ(f.fix, "allocate before the loop and free after it, or use stream-ordered memory (cuMemAllocAsync).");
  ASSERT_EQ(f.related.size(), 2u);
  EXPECT_EQ(f.related[0].what, "cuMemAlloc");
  EXPECT_EQ(f.related[1].what, "cuMemFree");
}

TEST(AllocInLoop, NothingIsSaidOfAPageOfPinnedMemoryNowAndThen) {
  for (const int turns : {49, 50}) {
    TraceBuilder trace = program();
    for (int i = 0; i <= turns; ++i) {
      trace.at({0x400400}).alloc(kHost, 8, MemoryKind::Pinned);
      kernel(trace, kA, kBuffer);
      trace.sync_stream(kA);
      trace.at({0x400410}).free(kHost, FreeKind::Host);
    }
    EXPECT_EQ(names(trace), turns == 50 ? Names{"alloc-in-loop"} : Names{}) << turns;
  }
}

TEST(AllocInLoop, TimeInTheFreesCountsWhereTheEstimateIsLess) {
  for (const std::uint64_t each : {110'000u, 112'000u}) {
    TraceBuilder trace = program();
    for (std::uint64_t i = 0; i < 9; ++i) {
      trace.at({0x400400}).alloc(kHost, 8, MemoryKind::Pinned);
      kernel(trace, kA, kBuffer);
      trace.sync_stream(kA);
      const std::uint64_t position = trace.at({0x400410}).add(Kind::Free, "cuMemFreeHost", {kHost, 0, 1, 0, 0xC0});
      trace.add(Kind::CallEnd, "", {position, 5'000'000, 5'000'000 + each});
    }
    EXPECT_EQ(names(trace), each == 112'000 ? Names{"alloc-in-loop"} : Names{});
  }
}

TEST(AllocInLoop, RareBesideTheKernels) {
  EXPECT_EQ(names(churn(20, MemoryKind::Device, FreeKind::Device, 200)), Names{"alloc-in-loop"});
  EXPECT_EQ(names(churn(20, MemoryKind::Device, FreeKind::Device, 201)), Names{});
}

TEST(AllocInLoop, TimeInTheFreesIsEvidence) {
  TraceBuilder trace = program();
  for (int i = 0; i < 20; ++i) {
    trace.at({0x400400}).alloc(kHost, kMiB);
    kernel(trace, kA, kBuffer);
    trace.sync_stream(kA);
    const std::uint64_t position = trace.at({0x400410}).add(Kind::Free, "cuMemFree_v2", {kHost, 0, 0, 0, 0xC0});
    trace.add(Kind::CallEnd, "", {position, 5'000'000, 6'250'000});
  }
  EXPECT_NE(hinted(trace).findings.at(0).explanation.find("The host was in cuMemFree for 25 ms."), std::string::npos);
}

TEST(AllocInLoop, NothingIsSaidOfMemoryThatIsKept) {
  TraceBuilder trace = program();
  for (std::uint64_t i = 0; i < 100; ++i) {
    trace.at({0x400400}).alloc(kHost + i * kMiB, kMiB);
    kernel(trace, kA, kHost + i * kMiB);
  }
  trace.sync_context();
  for (std::uint64_t i = 0; i < 100; ++i) trace.at({0x400410}).free(kHost + i * kMiB);
  EXPECT_EQ(names(trace), Names{});
}

TEST(AllocInLoop, NothingIsSaidWithoutKernelsInBetween) {
  EXPECT_EQ(names(churn(100, MemoryKind::Device, FreeKind::Device, 0)), Names{});
}

TEST(AllocInLoop, NothingIsSaidOfStreamOrderedMemory) {
  TraceBuilder trace = program();
  for (int i = 0; i < 100; ++i) {
    trace.at({0x400400}).alloc(kHost, kMiB, MemoryKind::DeviceAsync, kA);
    kernel(trace, kA, kHost);
    trace.at({0x400410}).free_async(kHost, kA);
  }
  EXPECT_EQ(names(trace), Names{});
}

/// A stream for each of turns + 1 kernels; `told`: where it is created.
TraceBuilder streams(int turns, bool told) {
  TraceBuilder trace = program();
  for (int i = 0; i <= turns; ++i) {
    (told ? trace.at({0x400400}) : trace.nowhere()).stream_create(0x9000, NonBlocking::Yes);
    kernel(trace, 0x9000, kBuffer);
    trace.sync_stream(0x9000);
    trace.at({0x400410}).stream_destroy(0x9000);
  }
  return trace;
}

TEST(AllocInLoop, StreamsOfATraceThatDoesNotTellWhereTheyAreCreated) {
  EXPECT_EQ(names(streams(166, false)), Names{});
  const Finding f = hinted(streams(167, false)).findings.at(0);
  EXPECT_EQ(f.message,
            "streams are created and destroyed again and again between kernels: 168 by this cuStreamDestroy.");
  EXPECT_EQ(f.related.size(), 1u);
}

TEST(AllocInLoop, StreamsAndEvents) {
  for (const int turns : {166, 167}) {
    const TraceBuilder trace = streams(turns, true);
    EXPECT_EQ(names(trace), turns == 167 ? Names{"alloc-in-loop"} : Names{});
    if (turns != 167) continue;
    const Finding f = hinted(trace).findings[0];
    EXPECT_EQ(f.message,
              "cuStreamCreate and cuStreamDestroy are called again and again between kernels: 168 and 168 times.");
    EXPECT_EQ(f.fix, "create the stream before the loop and use it again.");
    ASSERT_EQ(f.related.size(), 2u);
    EXPECT_EQ(f.related[0].what, "cuStreamCreate");
  }
  for (const int turns : {4999, 5000}) {
    TraceBuilder events = program();
    for (int i = 0; i <= turns; ++i) {
      events.at({0x400400}).event_create(kEvent, 2);
      kernel(events, kA, kBuffer);
      events.at({0x400410}).event_destroy(kEvent);
    }
    EXPECT_EQ(names(events), turns == 5000 ? Names{"alloc-in-loop"} : Names{});
  }
}

enum class Pieces { Rows, Packed, OneBuffer, Waited, Large, Kernels };

TraceBuilder in_pieces(Pieces how, std::uint64_t count, std::uint64_t runs = 1) {
  TraceBuilder trace = program();
  const std::uint64_t bytes = how == Pieces::Large ? 65 * kKiB : 256;
  const std::uint64_t step = how == Pieces::Rows ? 1024 : bytes;
  for (std::uint64_t run = 0; run < runs; ++run) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t from = kHost + (how == Pieces::OneBuffer ? 0 : i * bytes);
      trace.at({0x400800}).copy("cuMemcpyHtoD_v2", trace::kLegacyStream, kBuffer + i * step, from, bytes);
      if (how == Pieces::Waited) trace.sync_stream(trace::kLegacyStream);
      if (how == Pieces::Kernels) kernel(trace, trace::kLegacyStream, kBuffer);
    }
    kernel(trace, trace::kLegacyStream, kBuffer);
  }
  return trace;
}

TEST(CopyInPieces, RowsOfAMatrix) {
  EXPECT_EQ(names(in_pieces(Pieces::Rows, 256)), Names{});
  EXPECT_EQ(names(in_pieces(Pieces::Packed, 129, 2)), Names{"copy-in-pieces"});
  EXPECT_EQ(names(in_pieces(Pieces::Packed, 7, 1000)), Names{});
  const TraceBuilder trace = in_pieces(Pieces::Rows, 257);
  ASSERT_EQ(names(trace), Names{"copy-in-pieces"});
  const Finding f = hinted(trace).findings[0];
  EXPECT_EQ(f.message, "257 small copies could be 1.");
  EXPECT_EQ(
      f.explanation,
      "they come in 1 run, the longest of 257 copies of 256 bytes: each of the same size, the same distance behind "
      "the one before on both sides, and with no other call in between. A copy costs some microseconds, however "
      "few its bytes.");
  EXPECT_EQ(f.fix, "copy each run at once, where there are gaps by cuMemcpy2D or cuMemcpy2DAsync.");
  EXPECT_EQ(hinted(in_pieces(Pieces::Packed, 257)).findings.at(0).fix, "copy each run at once.");
}

TEST(CopyInPieces, SilentWithAReason) {
  for (const Pieces how : {Pieces::OneBuffer, Pieces::Waited, Pieces::Large, Pieces::Kernels}) {
    EXPECT_EQ(names(in_pieces(how, 1000)), Names{}) << static_cast<int>(how);
  }
}

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
