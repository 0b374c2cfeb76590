// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host does to memory, and what pools do with blocks: from records to findings. What is ordered is tested in
// ordering/; here, that the records become the right calls, and who is not blamed for what.
#include <gtest/gtest.h>

#include "judge/judge.h"
#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::MemoryKind;
using report::Finding;
using trace::AccessWay;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0;
constexpr std::uint64_t kDevice = 0x7000'0000'0000, kPinned = 0x5000'0000'0000;
constexpr std::uint64_t kBytes = 8192;

TraceBuilder pinned_and_device() {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.event_create(kEvent);
  trace.at({0x401000}).alloc(kDevice, kBytes);
  trace.at({0x401010}).alloc(kPinned, kBytes, MemoryKind::Pinned);
  return trace;
}

void download(TraceBuilder& trace) {
  trace.at({0x401100}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kDevice, kBytes);
}
void upload(TraceBuilder& trace) {
  trace.at({0x401200}).copy_async("cuMemcpyHtoDAsync_v2", kA, kDevice, kPinned, kBytes);
}

TEST(HostSide, AReadBeforeTheDownloadIsDone) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = pinned_and_device();
    download(trace);
    if (fixed) trace.sync_stream(kA);
    trace.at({0x401300}).host_access(kPinned + 64, 1, false);
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"read-after-write/error/no-edge"});
    if (fixed) continue;
    const Finding& f = findings[0];
    EXPECT_EQ(f.kind, report::Kind::HostRace);
    EXPECT_EQ(f.message,
              "the host reads pinned host memory that cuMemcpyDtoHAsync (device to host) on stream 1 may still be "
              "writing.");
    EXPECT_EQ(f.explanation,
              "the host does not wait for cuMemcpyDtoHAsync (device to host) (op #1) on stream 1 before its read.");
    EXPECT_EQ(f.fix,
              "call cuStreamSynchronize(stream 1), or cuEventSynchronize for an event recorded after "
              "cuMemcpyDtoHAsync (device to host), before the host's read.");
    EXPECT_EQ(f.accesses[0].what, "the host");
    EXPECT_EQ(f.accesses[0].api, "");
    EXPECT_EQ(f.accesses[0].verb, report::Verb::Read);
    EXPECT_EQ(f.accesses[0].stream.kind, report::StreamKind::Host);
    ASSERT_EQ(f.accesses[0].stack.size(), 1u);
    EXPECT_EQ(f.accesses[0].stack[0].offset, 0x1300u);
    EXPECT_EQ(f.overlap_begin, kPinned + 64);
    EXPECT_EQ(f.overlap_end, kPinned + 65);
  }
}

TEST(HostSide, AWriteToASourceThatIsStillRead) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = pinned_and_device();
    upload(trace);
    if (fixed) trace.event_record(kA, kEvent), trace.sync_event(kEvent);
    trace.at({0x401300}).host_access(kPinned, 1, true);
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"write-after-read/error/no-edge"});
    if (fixed) continue;
    EXPECT_TRUE(findings[0].fix.ends_with(", before the host's write; or write to another buffer.")) << findings[0].fix;
  }
  TraceBuilder reads = pinned_and_device();
  upload(reads);
  reads.host_access(kPinned, 1, false);
  EXPECT_EQ(judged(reads).findings.size(), 0u) << "both only read";
}

TEST(HostSide, AnEventThatNobodyWaitsFor) {
  TraceBuilder trace = pinned_and_device();
  download(trace);
  trace.event_record(kA, kEvent);
  trace.at({0x401300}).host_access(kPinned, 1, false);
  std::vector<Finding> findings = judged(trace).findings;
  ASSERT_EQ(hazards_of(findings), HazardList{"read-after-write/error/event-not-waited-for"});
  EXPECT_EQ(findings[0].explanation,
            "event 1 is recorded (op #2) after cuMemcpyDtoHAsync (device to host) (op #1), but the host does not wait "
            "for it before its read (op #3).");
  EXPECT_EQ(findings[0].fix, "call cuEventSynchronize(event 1) before the host's read.");
}

TEST(HostSide, FunctionsOfLibcAreNamed) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = pinned_and_device();
    download(trace);
    if (fixed) trace.sync_context();
    trace.at({0x401300}).host_access(kPinned, kBytes, false, AccessWay::Call, "write");
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(findings.size(), fixed ? 0u : 1u);
    if (fixed) continue;
    EXPECT_EQ(findings[0].accesses[0].what, "write()");
    EXPECT_EQ(findings[0].accesses[0].api, "write");
    EXPECT_EQ(findings[0].message,
              "write() reads pinned host memory that cuMemcpyDtoHAsync (device to host) on stream 1 may still be "
              "writing.");
    EXPECT_EQ(findings[0].explanation,
              "the host does not wait for cuMemcpyDtoHAsync (device to host) (op #1) on stream 1 before write().");
    EXPECT_EQ(findings[0].overlap_end, kPinned + kBytes);
  }
}

TEST(HostSide, EqualTouchesAreOneFindingAndOthersAreNot) {
  TraceBuilder trace = pinned_and_device();
  download(trace);
  for (int i = 0; i < 3; ++i) trace.at({0x401300}).host_access(kPinned, 1, false);
  trace.at({0x401300}).host_access(kPinned, 64, false, AccessWay::Call, "write");
  trace.at({0x401300}).host_access(kPinned, 64, false, AccessWay::Call, "send");
  std::vector<Finding> findings = judged(trace).findings;
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].count, 3u);
  EXPECT_NE(findings[1].fingerprint, findings[0].fingerprint);
  EXPECT_NE(findings[2].fingerprint, findings[1].fingerprint);
}

TEST(HostSide, BytesThatChangedUnseen) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = pinned_and_device();
    upload(trace);
    if (fixed) trace.sync_stream(kA);
    // Found while the thread that submitted the copy waits for it: the wait is not over.
    const std::uint64_t sync = trace.add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
    trace.at({0x401200}).host_access(kPinned, 4096, true, AccessWay::Content);
    trace.call_end(sync, true);
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"write-after-read/error/no-edge"});
    if (fixed) continue;
    EXPECT_EQ(findings[0].message,
              "the host changes pinned host memory between the call of cuMemcpyHtoDAsync (host to device) on stream 1 "
              "and the copy itself.");
    EXPECT_EQ(findings[0].explanation,
              "the host does not wait for cuMemcpyHtoDAsync (host to device) (op #1) on stream 1 before its write. The "
              "write itself was not seen: the bytes were compared at the call and before the copy.");
    EXPECT_EQ(findings[0].accesses[0].stack.size(), 0u) << "nobody knows where";
  }
}

TEST(HostSide, WhatTheGpuMayHaveChangedIsNotTheHosts) {
  TraceBuilder trace = pinned_and_device();
  download(trace);
  upload(trace);
  trace.host_access(kPinned, kBytes, true, AccessWay::Content);
  EXPECT_EQ(judged(trace).findings.size(), 0u);
}

TEST(HostSide, HostFunctionsAreNotBlamed) {
  for (bool host_function : {false, true}) {
    for (AccessWay way : {AccessWay::Instruction, AccessWay::Content}) {
      TraceBuilder trace = pinned_and_device();
      if (host_function) trace.add(trace::Kind::HostFunction, "cuLaunchHostFunc", {kA, 0});
      upload(trace);
      trace.on_thread(9).host_access(kPinned, 1, true, way);  // a thread that makes no calls of CUDA
      EXPECT_EQ(judged(trace).findings.size(), host_function ? 0u : 1u);
    }
    TraceBuilder caller = pinned_and_device();
    if (host_function) caller.add(trace::Kind::HostFunction, "cuLaunchHostFunc", {kA, 0});
    upload(caller);
    caller.host_access(kPinned, 1, true);
    EXPECT_EQ(judged(caller).findings.size(), 1u) << "this thread calls CUDA, which host functions may not do";
  }
}

TEST(HostSide, TouchesInsideABlockingCallAreTheCalls) {
  TraceBuilder trace = pinned_and_device();
  download(trace);
  std::uint64_t sync = trace.add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
  trace.host_access(kPinned, 1, false);
  trace.call_end(sync, true);
  trace.host_access(kPinned, 1, false);
  EXPECT_EQ(judged(trace).findings.size(), 0u);

  TraceBuilder other = pinned_and_device();
  download(other);
  sync = other.add(trace::Kind::SyncStream, "cuStreamSynchronize", {kA, TraceBuilder::kContext});
  other.on_thread(2).host_access(kPinned, 1, false);
  other.on_thread(1).call_end(sync, true);
  EXPECT_EQ(judged(other).findings.size(), 1u) << "another thread did not wait";
}

TEST(HostSide, MemoryHasTheNameItWasGiven) {
  TraceBuilder trace = pinned_and_device();
  trace.name_memory(kPinned, "kv cache");
  trace.name_memory(kPinned + 8, "a part of it");
  download(trace);
  trace.host_access(kPinned, 1, false);
  std::vector<Finding> findings = judged(trace).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].buffer->name, "kv cache");
  EXPECT_TRUE(findings[0].message.starts_with("the host reads pinned host memory \"kv cache\" that "))
      << findings[0].message;

  TraceBuilder recycled = pinned_and_device();
  recycled.name_memory(kPinned, "kv cache");
  recycled.free(kPinned, trace::FreeKind::Host);
  recycled.alloc(kPinned, kBytes, MemoryKind::Pinned);
  download(recycled);
  recycled.host_access(kPinned, 1, false);
  findings = judged(recycled).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].buffer->name, "") << "the name was that of an earlier life";
}

// ---- host memory that goes away
// ----------------------------------------------------------------------------------------

constexpr std::uint64_t kHeap = 0x6000'0000'0000;

TEST(HostSide, PageableMemoryFreedUnderACopyIsLatent) {
  struct Case {
    trace::HostFreeWay way;
    const char* function;
    const char* what;
  };
  for (const Case& c :
       {Case{trace::HostFreeWay::Heap, "free", "free()"}, Case{trace::HostFreeWay::Unmap, "munmap", "munmap()"},
        Case{trace::HostFreeWay::Frame, "", "the return of the function whose variable it was"}}) {
    for (bool fixed : {false, true}) {
      TraceBuilder trace = pinned_and_device();
      trace.at({0x401200}).copy_async("cuMemcpyHtoDAsync_v2", kA, kDevice, kHeap, 64);
      if (fixed) trace.sync_stream(kA);
      trace.at({0x401300}).host_free(kHeap, 64, c.way, c.function);
      std::vector<Finding> findings = judged(trace).findings;
      ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"free-while-in-use/latent/no-edge"}) << c.what;
      if (fixed) continue;
      const Finding& f = findings[0];
      EXPECT_EQ(f.kind, report::Kind::PrematureFree);
      EXPECT_EQ(f.rule, "R-CPY-13");
      EXPECT_EQ(f.accesses[0].what, c.what);
      EXPECT_EQ(f.accesses[0].api, c.function);
      EXPECT_EQ(f.message, std::string(c.what) +
                               " frees host memory that cuMemcpyHtoDAsync (host to device) on stream "
                               "1 may still be reading.");
      EXPECT_TRUE(f.explanation.starts_with("today's driver orders the two by R-CPY-13 (")) << f.explanation;
      EXPECT_EQ(f.fix, std::string("call cuStreamSynchronize(stream 1), or cuEventSynchronize for an event recorded "
                                   "after cuMemcpyHtoDAsync (host to device), before ") +
                           c.what + ".");
      EXPECT_EQ(f.buffer->memory, "host memory");
      EXPECT_EQ(f.buffer->allocator, "");
    }
  }
}

// ---- blocks of a pool
// --------------------------------------------------------------------------------------------------

constexpr std::uint64_t kConsume = 1;

/// A block for stream A that stream B uses, too, and that goes back to A.
TraceBuilder released_block(bool asked, bool waits) {
  TraceBuilder trace = pinned_and_device();
  trace.function(kConsume, "_Z7consumePKf");
  trace.at({0x401300}).block_alloc(kDevice, 4096, kA);
  trace.at({0x401310}).launch(kB, kConsume, {trace::pointer_word(0, kDevice)}, 4096);
  if (asked) trace.block_use(kDevice, kB);
  if (waits) trace.event_record(kB, kEvent), trace.event_wait(kA, kEvent);
  trace.at({0x401320}).block_free(kDevice, kA);
  return trace;
}

TEST(Pools, ABlockThatGoesBackTooEarlyIsLatent) {
  EXPECT_EQ(judged(released_block(true, false)).findings.size(), 0u) << "the pool was asked";
  EXPECT_EQ(judged(released_block(false, true)).findings.size(), 0u) << "the stream waits";
  std::vector<Finding> findings = judged(released_block(false, false)).findings;
  ASSERT_EQ(hazards_of(findings), HazardList{"release-while-in-use/latent/no-edge"});
  const Finding& f = findings[0];
  EXPECT_EQ(f.kind, report::Kind::PrematureFree);
  EXPECT_EQ(f.rule, "") << "nothing orders the two today";
  EXPECT_EQ(f.message,
            "a block of device memory goes back to its pool for use in stream 1 that kernel consume(float const*) on "
            "stream 2 may still be reading.");
  EXPECT_EQ(f.explanation,
            "nothing makes stream 1 wait for stream 2 between kernel consume(float const*) (op #2) and the block's "
            "release (op #3). The pool was not asked to wait for stream 2.");
  EXPECT_EQ(f.fix,
            "tell the pool that stream 2 uses the block (record_stream() of the pool, streamsan_block_used()) before "
            "the block's release; or record an event on stream 2 after kernel consume(float const*) and call "
            "cuStreamWaitEvent(stream 1, event) before the block's release.");
  EXPECT_EQ(f.accesses[0].what, "the pool");
  EXPECT_EQ(f.buffer->allocator, "the pool");
  EXPECT_EQ(f.buffer->bytes, 4096u);
}

TEST(Pools, ReuseIsAnErrorAndTakesThePlaceOfTheRelease) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = released_block(fixed, false);
    trace.at({0x401330}).block_alloc(kDevice, 4096, kA);
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"reuse-while-in-use/error/no-edge"});
    if (fixed) continue;
    const Finding& f = findings[0];
    EXPECT_EQ(f.message,
              "the pool hands out a block for use in stream 1 again, device memory that kernel consume(float const*) "
              "on stream 2 may still be reading.");
    ASSERT_EQ(f.related.size(), 1u);
    EXPECT_EQ(f.related[0].what, "freed by the pool");
    EXPECT_EQ(f.related[0].stack[0].offset, 0x1320u);
    EXPECT_TRUE(
        f.fix.starts_with("tell the pool that stream 2 uses the block (record_stream() of the pool, "
                          "streamsan_block_used()) before it goes back; or record an event on stream 2 "))
        << f.fix;
  }
}

TEST(Pools, AReleaseIsHarmlessIfTheOwnerWaitsBeforeItDoesAnythingElse) {
  enum class Then { Waits, WaitsForAnother, Works, HandsOut, HostWaits };
  for (const Then then : {Then::Waits, Then::WaitsForAnother, Then::Works, Then::HandsOut, Then::HostWaits}) {
    TraceBuilder trace = released_block(false, false);
    if (then == Then::Works) trace.launch(kA, kConsume, {}, 32);
    if (then == Then::HandsOut) trace.block_alloc(kDevice + 8192, 4096, kA);
    if (then == Then::HostWaits) trace.sync_stream(kB);
    if (then == Then::WaitsForAnother) trace.event_record(trace::kLegacyStream, kEvent);
    if (then == Then::Waits || then == Then::Works || then == Then::HandsOut) trace.event_record(kB, kEvent);
    if (then != Then::HostWaits) trace.event_wait(kA, kEvent);
    // What comes then finds the release settled.
    trace.launch(kA, kConsume, {}, 32);
    EXPECT_EQ(hazards_of(judged(trace).findings),
              then == Then::Waits ? HazardList{} : HazardList{"release-while-in-use/latent/no-edge"})
        << static_cast<int>(then);
  }
}

TEST(Pools, OfManyReleasesTheHarmlessOnesDoNotCount) {
  TraceBuilder trace = pinned_and_device();
  trace.function(kConsume, "_Z7consumePKf");
  for (int turn = 0; turn < 5; ++turn) {
    trace.at({0x401300}).block_alloc(kDevice, 4096, kA);
    trace.at({0x401310}).launch(kB, kConsume, {trace::pointer_word(0, kDevice)}, 4096);
    trace.at({0x401320}).block_free(kDevice, kA);
    if (turn == 3) trace.launch(kA, kConsume, {}, 32);
    trace.event_record(kB, kEvent);
    trace.event_wait(kA, kEvent);
  }
  std::vector<Finding> findings = judged(trace).findings;
  // The fourth turn's, which has a wait in front of it, and not the first one's, which was withdrawn.
  ASSERT_EQ(hazards_of(findings), HazardList{"release-while-in-use/latent/event-recorded-too-early"});
  EXPECT_EQ(findings[0].count, 1u);
}

TEST(Pools, ALoopOfReusesTellsNoRelease) {
  TraceBuilder trace = pinned_and_device();
  trace.function(kConsume, "_Z7consumePKf");
  for (int i = 0; i < 3; ++i) {
    trace.at({0x401300}).block_alloc(kDevice, 4096, kA);
    trace.at({0x401310}).launch(kB, kConsume, {trace::pointer_word(0, kDevice)}, 4096);
    trace.at({0x401320}).block_free(kDevice, kA);
  }
  EXPECT_EQ(hazards_of(judged(trace).findings), HazardList{"reuse-while-in-use/error/no-edge"});
}

TEST(Pools, OnTheHost) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = pinned_and_device();
    trace.function(kConsume, "_Z7consumePKf");
    trace.block_alloc(kDevice, 4096, std::nullopt);
    trace.launch(kB, kConsume, {trace::pointer_word(0, kDevice)}, 4096);
    if (fixed) trace.sync_stream(kB);
    trace.block_free(kDevice, std::nullopt);
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"release-while-in-use/latent/no-edge"});
    if (!fixed) {
      EXPECT_EQ(findings[0].explanation,
                "the host does not wait for kernel consume(float const*) (op #2) on stream 2 before the block's "
                "release. The pool was not asked to wait for stream 2.");
    }
  }
}

TEST(Pools, SignalAndAwaitOrder) {
  enum class How { Nothing, Streams, OtherObject, Host };
  for (How how : {How::Nothing, How::Streams, How::OtherObject, How::Host}) {
    TraceBuilder trace = pinned_and_device();
    trace.at({0x401400}).fill_async(kA, kDevice, 64);
    if (how == How::Streams || how == How::OtherObject) {
      trace.signal(kA, 0x55);
      trace.await(kB, how == How::Streams ? 0x55 : 0x66);
    } else if (how == How::Host) {
      trace.signal(kA, 0x55);
      trace.await(std::nullopt, 0x55);
    }
    trace.at({0x401410}).fill_async(kB, kDevice, 64);
    EXPECT_EQ(judged(trace).findings.size(), how == How::Nothing || how == How::OtherObject ? 1u : 0u);
  }
}

TEST(Lifetimes, UseAfterFreeAndDoubleFree) {
  for (bool twice : {false, true}) {
    TraceBuilder trace = pinned_and_device();
    trace.at({0x401020}).alloc(kDevice + 0x100000, 4096, MemoryKind::DeviceAsync, kA);
    trace.at({0x401030}).free_async(kDevice + 0x100000, kA);
    trace.at({0x401040});
    if (twice) {
      trace.free_async(kDevice + 0x100000, kA);
    } else {
      trace.fill_async(kA, kDevice + 0x100000, 64);
    }
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), HazardList{twice ? "double-free/error/no-edge" : "use-after-free/error/no-edge"});
    EXPECT_EQ(findings[0].kind, report::Kind::PrematureFree);
    EXPECT_EQ(findings[0].message,
              twice ? "cuMemFreeAsync on stream 1 frees stream-ordered device memory that cuMemFreeAsync on stream 1 "
                      "has freed already."
                    : "cuMemsetD8Async on stream 1 uses stream-ordered device memory that cuMemFreeAsync on stream 1 "
                      "has given back.");
    EXPECT_TRUE(findings[0].explanation.ends_with(
        " (op #3) was submitted after cuMemFreeAsync (op #2): no order of the two makes that right."))
        << findings[0].explanation;
    EXPECT_EQ(findings[0].related.size(), 0u) << "the free is one of the two";
  }
}

}  // namespace
}  // namespace streamsan::judge
