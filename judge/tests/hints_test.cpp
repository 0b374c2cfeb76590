// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints about memory: each at its threshold and beside a program that does the same with a good reason.
#include <gtest/gtest.h>

#include "judge/tests/hints_program.h"

namespace streamsan::judge {
namespace {

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
    EXPECT_EQ(f.cause.text(), "pageable-copy");
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
        std::pair("/venv/cupy/_core/core.so", "cupyx.empty_pinned"),
        std::pair("/venv/lib/python3.12/site-packages/numba/cuda/x.so", "cuda.pinned_array"),
        std::pair("/opt/lib/libx.so", "cuMemAllocHost")}) {
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

TEST(PageableCopy, WhatALibraryDoesIsReportedInOneLine) {
  TraceBuilder trace = program();
  for (int i = 0; i < 20; ++i) {
    for (const std::uint64_t place : {kLibrary + 0x10, kLibrary + 0x20}) {
      trace.at({place, 0x400300}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kMiB);
      kernel(trace, kA, kBuffer);
    }
  }
  const Hinted out = hinted(trace);
  EXPECT_EQ(out.findings.size(), 0u);
  EXPECT_EQ(out.in_libraries, "hints about calls inside libraries: pageable-copy in libcublas.so.13 (2 places)");
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

/// A stream for each of turns + 1 kernels; `placed`: the trace has the place where it is created.
TraceBuilder streams(int turns, bool placed) {
  TraceBuilder trace = program();
  for (int i = 0; i <= turns; ++i) {
    (placed ? trace.at({0x400400}) : trace.nowhere()).stream_create(0x9000, NonBlocking::Yes);
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
      "they come in 1 run, the longest of 257 copies of 256 bytes: all of one size, at equal distances in source and "
      "destination, and without another call in between. A copy costs some microseconds, however few its bytes.");
  EXPECT_EQ(f.fix, "copy each run at once, where there are gaps by cuMemcpy2D or cuMemcpy2DAsync.");
  EXPECT_EQ(hinted(in_pieces(Pieces::Packed, 257)).findings.at(0).fix, "copy each run at once.");
}

TEST(CopyInPieces, SilentWithAReason) {
  for (const Pieces how : {Pieces::OneBuffer, Pieces::Waited, Pieces::Large, Pieces::Kernels}) {
    EXPECT_EQ(names(in_pieces(how, 1000)), Names{}) << static_cast<int>(how);
  }
}

}  // namespace
}  // namespace streamsan::judge
