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
    EXPECT_EQ(f.accesses[0].verb, "Read");
    EXPECT_EQ(f.accesses[0].stream.kind, "");
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
    trace.on_thread(9).at({}).host_access(kPinned, kBytes, true, AccessWay::Content);
    std::vector<Finding> findings = judged(trace).findings;
    ASSERT_EQ(hazards_of(findings), fixed ? HazardList{} : HazardList{"write-after-read/error/no-edge"});
    if (fixed) continue;
    EXPECT_EQ(findings[0].message,
              "the host changes pinned host memory between the call of cuMemcpyHtoDAsync (host to device) on stream 1 "
              "and the copy itself.");
    EXPECT_EQ(findings[0].explanation,
              "the host does not wait for cuMemcpyHtoDAsync (host to device) (op #1) on stream 1 before its write. The "
              "write itself was not seen: the bytes were compared at the call and before the copy.");
  }
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

}  // namespace
}  // namespace streamsan::judge
