// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels touch through texture and surface objects, by their code and by what the objects are made of; and what
// reports say of arrays. Each firing case beside one that must stay silent.
#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::Kind;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kHost = 0x5000;
constexpr std::uint64_t kArray = ordering::kFirstArrayAddress, kOther = kArray + 0x10000, kBytes = 4096;
constexpr std::uint64_t kRead = 1, kPaint = 2, kNumber = 3;

// read(texture): reads through it. paint(surface): writes through it. number(n): uses neither.
constexpr const char* kCode = R"(
.version 8.0
.target sm_75
.visible .entry _Z4ready(.param .u64 t) {
  .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [t];
  tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];
  ret;
}
.visible .entry _Z5painty(.param .u64 s) {
  .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [s];
  sust.b.1d.b32.trap [%rd1, {%r1}], {%r2};
  ret;
}
.visible .entry _Z6numbery(.param .u64 n) {
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [n];
  add.s64 %rd2, %rd1, 1;
  ret;
}
)";

const HazardList kOverwritten{"write-after-read/error/no-edge"};
const HazardList kPerhaps{"write-after-read/possible/no-edge"};
const HazardList kSilent;

void array(TraceBuilder& trace, std::uint64_t address) {
  trace.add(Kind::ArraySizes, {}, {address, 32, 32, 1, 4, 1});
  trace.alloc(address, kBytes, ordering::MemoryKind::Array);
}

void texture(TraceBuilder& trace, std::uint64_t handle, std::uint64_t address, std::uint64_t bytes = kBytes,
             bool surface = false) {
  trace.add(Kind::Texture, surface ? "cuSurfObjectCreate" : "cuTexObjectCreate",
            {handle, surface ? 1u : 0u, address, bytes});
}

TraceBuilder program() {
  TraceBuilder trace;
  trace.function(kRead, "_Z4ready");
  trace.function(kPaint, "_Z5painty");
  trace.function(kNumber, "_Z6numbery");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.at({0x401000});
  array(trace, kArray);
  array(trace, kOther);
  return trace;
}

void launch(TraceBuilder& trace, std::uint64_t stream, std::uint64_t function, std::uint64_t handle) {
  const std::uint64_t words[] = {handle};
  trace.arguments(handle, function, {1, 1, 1}, {64, 1, 1}, std::as_bytes(std::span(words)));
  trace.at({0x401100 + stream + function}).launch(stream, function, {}, 64, handle);
}

void upload(TraceBuilder& trace, std::uint64_t array, std::uint64_t bytes = kBytes) {
  trace.at({0x401300}).copy_async("cuMemcpyHtoAAsync_v2", kB, array, kHost, bytes);
}

HazardList found(const TraceBuilder& trace, bool read_code = true) {
  return hazards_of(judged(trace, 1000, kCode, read_code).findings);
}

TEST(Textures, AreReadByKernelsThatAreGivenThem) {
  for (const std::uint64_t uploaded : {kArray, kOther}) {
    TraceBuilder trace = program();
    texture(trace, 1, kArray);
    launch(trace, kA, kRead, 1);
    upload(trace, uploaded);
    EXPECT_EQ(found(trace), uploaded == kArray ? kOverwritten : kSilent);
    EXPECT_EQ(found(trace, /*read_code=*/false), kSilent) << "nothing says that the number is one";
  }
}

TEST(Textures, ANumberIsNone) {
  TraceBuilder trace = program();
  texture(trace, 1, kArray);
  launch(trace, kA, kNumber, 1);
  upload(trace, kArray);
  EXPECT_EQ(found(trace), kSilent);
}

TEST(Textures, APartThatIsOverwrittenIsPerhapsAnother) {
  TraceBuilder trace = program();
  texture(trace, 1, kArray);
  launch(trace, kA, kRead, 1);
  upload(trace, kArray, kBytes - 4);
  EXPECT_EQ(found(trace), kPerhaps);
}

TEST(Textures, BesideMeasuredBytesCountAsBefore) {
  TraceBuilder trace = program();
  texture(trace, 1, kArray);
  trace.footprint(1, {});
  const std::uint64_t words[] = {1};
  trace.arguments(1, kRead, {1, 1, 1}, {64, 1, 1}, std::as_bytes(std::span(words)));
  trace.at({0x401100}).launch_known(kA, kRead, 1, trace::Known::Measured, {}, 64, 1);
  upload(trace, kArray);
  EXPECT_EQ(found(trace), kOverwritten);
}

TEST(Textures, AHandleMeansItsNewestObject) {
  for (const bool again : {true, false}) {
    TraceBuilder trace = program();
    texture(trace, 1, kArray);
    if (again) texture(trace, 1, kOther);
    launch(trace, kA, kRead, 1);
    upload(trace, kArray);
    EXPECT_EQ(found(trace), again ? kSilent : kOverwritten);
  }
}

TEST(Textures, OfMemoryThatIsNotKnownAreNotSeen) {
  TraceBuilder trace = program();
  texture(trace, 1, 0, 0);
  launch(trace, kA, kRead, 1);
  launch(trace, kA, kRead, 2);
  upload(trace, kArray);
  EXPECT_EQ(found(trace), kSilent);
}

TEST(Surfaces, AreWrittenAndCountedApart) {
  for (const bool surface : {true, false}) {
    TraceBuilder trace = program();
    texture(trace, 1, surface ? kOther : kArray);
    texture(trace, 1, surface ? kArray : kOther, kBytes, /*surface=*/true);
    launch(trace, kA, kPaint, 1);
    trace.at({0x401300}).copy_async("cuMemcpyAtoHAsync_v2", kB, kHost, kArray, kBytes);
    EXPECT_EQ(found(trace), surface ? (HazardList{"read-after-write/error/no-edge"}) : kSilent);
  }
}

TEST(Surfaces, OneKernelPaintsAndAnotherReads) {
  TraceBuilder trace = program();
  texture(trace, 1, kArray);
  texture(trace, 7, kArray, kBytes, /*surface=*/true);
  launch(trace, kA, kPaint, 7);
  launch(trace, kB, kRead, 1);
  EXPECT_EQ(found(trace), (HazardList{"read-after-write/error/no-edge"}));
}

TEST(Surfaces, TwoLaunchesOfOneKernelPaintPerhapsTwoParts) {
  TraceBuilder trace = program();
  texture(trace, 7, kArray, kBytes, /*surface=*/true);
  texture(trace, 8, kArray, kBytes, /*surface=*/true);
  launch(trace, kA, kPaint, 7);
  launch(trace, kB, kPaint, 8);
  EXPECT_EQ(found(trace), (HazardList{"write-after-write/possible/no-edge"}));
}

TEST(Arrays, HaveSizesAndNoAddressInReports) {
  TraceBuilder trace = program();
  trace.at({0x401200}).copy_async("cuMemcpyHtoAAsync_v2", kA, kArray + 1024, kHost, 1024);
  trace.at({0x401300}).copy_async("cuMemcpyHtoAAsync_v2", kB, kArray + 1536, kHost, 1024);
  const auto findings = judged(trace, 1000, kCode, true).findings;
  ASSERT_EQ(findings.size(), 1u);
  const report::Finding& finding = findings[0];
  EXPECT_EQ(finding.buffer->memory, "an array of 32 x 32 x 4 bytes");
  EXPECT_EQ(finding.buffer->address, 0u);
  EXPECT_EQ(finding.buffer->bytes, kBytes);
  EXPECT_EQ(finding.overlap_begin, 1536u);
  EXPECT_EQ(finding.overlap_end, 2048u);
  EXPECT_EQ(finding.accesses[0].begin, 1536u);
  EXPECT_NE(finding.message.find("an array of 32 x 32 x 4 bytes"), std::string::npos) << finding.message;
}

TEST(Arrays, AreFreedAsDeviceMemoryIs) {
  for (const bool waits : {true, false}) {
    TraceBuilder trace = program();
    texture(trace, 1, kArray);
    launch(trace, kA, kRead, 1);
    if (waits) trace.sync_stream(kA);
    trace.at({0x401400}).free(kArray);
    EXPECT_EQ(found(trace), waits ? kSilent : (HazardList{"free-while-in-use/latent/no-edge"}));
  }
}

TEST(Arrays, OfOlderTracesAreNoSide) {
  TraceBuilder trace = program();
  trace.at({0x401200}).copy_async("cuMemcpyHtoAAsync_v2", kA, 0, kHost, 1024);
  trace.at({0x401300}).copy_async("cuMemcpyHtoAAsync_v2", kB, 0, kHost, 1024);
  EXPECT_EQ(found(trace), kSilent);
}

}  // namespace
}  // namespace streamsan::judge
