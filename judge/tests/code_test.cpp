// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that nobody measured, judged by the kernels' code: the bytes that are proved convict, and acquit. Each
// firing case beside one that must stay silent, and beside the same without the code.
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::NonBlocking;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kHost = 0x5000;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kOther = 0x7100'0000'0000, kBytes = 8192;
constexpr std::uint64_t kFill = 1, kScale = 2, kCount = 3, kSlow = 4;

// fill(p, from, n): p[from + i] = 0 for i < n.
// scale(to, from): to[i] = from[i], neither of them const.
// slow(p, from, turns, value): p[from] = value, after reading p[0] so many times.
// count(counters, table): an atomic update of one counter that the table chooses.
constexpr const char* kCode = R"(
.version 8.0
.target sm_75
.visible .entry _Z4fillPfii(.param .u64 p, .param .u32 from, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [from]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r6, %r2;
  @%p1 bra DONE;
  add.s32 %r7, %r6, %r1;
  mul.wide.s32 %rd2, %r7, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], 0;
DONE: ret;
}
.visible .entry _Z4slowPfiil(.param .u64 p, .param .u32 from, .param .u32 turns, .param .u64 value) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [from]; ld.param.u32 %r2, [turns]; ld.param.u64 %rd4, [value];
  mov.u32 %r3, 0;
L: ld.global.u32 %r4, [%rd1];
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p1, %r3, %r2;
  @%p1 bra L;
  mul.wide.s32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u64 [%rd3], %rd4;
  ret;
}
.visible .entry _Z5scalePfS_(.param .u64 to, .param .u64 from) {
  .reg .b32 %r<3>; .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3; add.s64 %rd5, %rd1, %rd3;
  ld.global.u32 %r2, [%rd4];
  st.global.u32 [%rd5], %r2;
  ret;
}
.visible .entry _Z5countPiS_(.param .u64 counters, .param .u64 table) {
  .reg .b32 %r<3>; .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [counters]; ld.param.u64 %rd2, [table];
  ld.global.u32 %r1, [%rd2];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  red.global.add.u32 [%rd4], 1;
  ret;
}
)";

const HazardList kError{"write-after-write/error/no-edge"};
const HazardList kPossible{"write-after-write/possible/no-edge"};
const HazardList kSilent;

TraceBuilder program() {
  TraceBuilder trace;
  trace.function(kFill, "_Z4fillPfii");
  trace.function(kScale, "_Z5scalePfS_");
  trace.function(kCount, "_Z5countPiS_");
  trace.function(kSlow, "_Z4slowPfiil");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  trace.alloc(kOther, kBytes);
  return trace;
}

/// Two pointers of a kernel, as argument bytes.
void arguments(TraceBuilder& trace, std::uint64_t hash, std::uint64_t function,
               std::initializer_list<std::uint64_t> words, std::uint32_t threads) {
  trace.arguments(hash, function, {1, 1, 1}, {threads, 1, 1}, std::as_bytes(std::span(words.begin(), words.size())));
}

/// Fills `n` floats from number `from` on.
void fill(TraceBuilder& trace, std::uint64_t stream, std::uint32_t from, std::uint32_t n, bool known) {
  const std::uint64_t hash = std::uint64_t{from} << 32 | n;
  if (known) arguments(trace, hash, kFill, {kBuffer, from | std::uint64_t{n} << 32}, 1024);
  trace.at({0x401100 + stream}).launch(stream, kFill, {pointer_word(0, kBuffer)}, 1024, hash);
}

HazardList found(const TraceBuilder& trace, bool read_code = true) {
  return hazards_of(judged(trace, 1000, kCode, read_code).findings);
}

/// One thread writes to float number `from` of the other buffer, after so many turns that few such launches fit.
void slow(TraceBuilder& trace, std::uint32_t from) {
  constexpr std::uint64_t kTurns = 50'000;
  const std::uint64_t hash = std::uint64_t{from} << 32 | 1;
  arguments(trace, hash, kSlow, {kOther, from | kTurns << 32, 0}, 1);
  trace.at({0x401200}).launch(kA, kSlow, {pointer_word(0, kOther)}, 1, hash);
}

TEST(Code, AnExpensiveKernelIsNotEvaluatedForEverAndLeavesOthersTime) {
  constexpr std::uint32_t kLaunches = 150;
  TraceBuilder trace = program();
  for (std::uint32_t i = 1; i < kLaunches; ++i) slow(trace, i);
  trace.at({0x401300}).fill_async(kB, kOther + std::uint64_t{4} * (kLaunches - 1), 4);
  fill(trace, kA, 0, 1024, true);
  fill(trace, kB, 1023, 1000, true);
  EXPECT_EQ(found(trace), HazardList({kPossible[0], kError[0]})) << "that of the slow kernel, that of the other";
}

TEST(Code, AnExpensiveKernelIsEvaluatedAtFirst) {
  TraceBuilder trace = program();
  slow(trace, 1);
  trace.at({0x401300}).fill_async(kB, kOther + 4, 4);
  EXPECT_EQ(found(trace), kError);
}

// A value that is stored decides about no address: one evaluation is enough for a thousand launches.
TEST(Code, LaunchesThatDifferInWhatTheyStoreAreEvaluatedOnce) {
  for (const bool in_address : {false, true}) {
    TraceBuilder trace = program();
    constexpr std::uint64_t kTurns = 50'000;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
      arguments(trace, i, kSlow, {kOther, (in_address ? i : 1) | kTurns << 32, std::uint64_t{i}}, 1);
      trace.at({0x401200}).launch(kA, kSlow, {pointer_word(0, kOther)}, 1, i);
    }
    trace.at({0x401300}).fill_async(kB, kOther + std::uint64_t{4} * (in_address ? 1000 : 1), 4);
    EXPECT_EQ(found(trace), in_address ? kPossible : kError);
  }
}

// So it is for a kernel that is launched with one buffer after the other: the expensive one fits in once.
TEST(Code, LaunchesWithOtherBuffersAreEvaluatedOnce) {
  constexpr std::uint64_t kTurns = 50'000, kLaunches = 1000;
  for (const bool overlap : {true, false}) {
    TraceBuilder trace = program();
    for (std::uint64_t i = 1; i <= kLaunches; ++i) {
      const std::uint64_t buffer = kOther + 8 * (i - 1);
      arguments(trace, i, kSlow, {buffer, kTurns << 32, 7}, 1);
      trace.at({0x401200}).launch(kA, kSlow, {pointer_word(0, buffer)}, 1, i);
    }
    // The last one writes the last eight bytes before the fill.
    trace.at({0x401300}).fill_async(kB, kOther + 8 * kLaunches - (overlap ? 4 : 0), 8);
    EXPECT_EQ(found(trace), overlap ? kError : kSilent);
  }
}

TEST(Code, TwoHalvesAreSilentAndAnOverlapIsAnError) {
  for (const bool overlap : {true, false}) {
    TraceBuilder trace = program();
    fill(trace, kA, 0, 1024, true);
    fill(trace, kB, overlap ? 1023 : 1024, 1000, true);
    EXPECT_EQ(found(trace), overlap ? kError : kSilent);
    EXPECT_EQ(found(trace, /*read_code=*/false), kPossible);
  }
}

// Both kernels were measured in launches with equal arguments before: by itself that is possible at most.
TEST(Code, WhatItProvesGoesBeforeWhatAnEarlierLaunchTouched) {
  for (const bool overlap : {true, false}) {
    TraceBuilder trace = program();
    trace.footprint(1, {trace::piece(0, trace::Piece::Mode::Write, 0, 4096)});
    trace.footprint(2, {trace::piece(0, trace::Piece::Mode::Write, overlap ? 4092 : 4096, 4000)});
    const auto learned = [&trace](std::uint64_t stream, std::uint64_t footprint, std::uint32_t from, std::uint32_t n) {
      const std::uint64_t hash = std::uint64_t{from} << 32 | n;
      arguments(trace, hash, kFill, {kBuffer, from | std::uint64_t{n} << 32}, 1024);
      trace.at({0x401100 + stream})
          .launch_known(stream, kFill, footprint, trace::Known::Learned, {pointer_word(0, kBuffer)}, 1024, hash);
    };
    learned(kA, 1, 0, 1024);
    learned(kB, 2, overlap ? 1023 : 1024, 1000);
    EXPECT_EQ(found(trace), overlap ? kError : kSilent);
    EXPECT_EQ(found(trace, /*read_code=*/false), overlap ? kPossible : kSilent);
  }
}

TEST(Code, TheGuardCounts) {
  for (const bool overlap : {true, false}) {
    TraceBuilder trace = program();
    fill(trace, kA, 0, overlap ? 513 : 512, true);
    trace.at({0x401300}).copy_async("cuMemcpyHtoDAsync_v2", kB, kBuffer + 2048, kHost, 2048);
    EXPECT_EQ(found(trace), overlap ? kError : kSilent);
  }
}

TEST(Code, AKernelThatTakesOtherArgumentsIsAnotherKernel) {
  for (const bool other : {true, false}) {
    TraceBuilder trace = program();
    for (const std::uint64_t stream : {kA, kB}) {
      const std::uint64_t half = stream == kA ? 0 : 1024;
      std::vector<std::uint64_t> words{kBuffer, half | std::uint64_t{1024} << 32};
      if (other) words.push_back(0);
      trace.arguments(stream, kFill, {1, 1, 1}, {1024, 1, 1}, std::as_bytes(std::span(words)));
      trace.at({0x401100 + stream}).launch(stream, kFill, {pointer_word(0, kBuffer)}, 1024, stream);
    }
    EXPECT_EQ(found(trace), other ? kPossible : kSilent);
  }
}

TEST(Code, WithoutArgumentsPointersAreInferred) {
  TraceBuilder trace = program();
  fill(trace, kA, 0, 200, true);
  fill(trace, kB, 1024, 1000, false);
  EXPECT_EQ(found(trace), kPossible);
}

TEST(Code, WhatIsOnlyReadIsARead) {
  for (const bool writes : {true, false}) {
    TraceBuilder trace = program();
    // No arguments: facts only.
    trace.at({0x401100}).launch(kA, kScale, {pointer_word(0, kOther), pointer_word(1, kBuffer)}, 1024, 1);
    trace.alloc(0x7200'0000'0000, kBytes);
    trace.at({0x401200})
        .launch(kB, kScale, {pointer_word(writes ? 1 : 0, 0x7200'0000'0000), pointer_word(writes ? 0 : 1, kBuffer)},
                1024, 2);
    EXPECT_EQ(found(trace).size(), writes ? 1u : 0u);
    EXPECT_EQ(found(trace, /*read_code=*/false).size(), 1u);
  }
}

// Its signature does not say that it writes: it may count in another part of the buffer than the others.
TEST(Code, AtomicUpdatesThroughAPointerOfUnknownUseStayPossible) {
  TraceBuilder trace = program();
  for (const std::uint64_t stream : {kA, kB})
    trace.at({0x401100 + stream})
        .launch(stream, kCount, {pointer_word(0, kBuffer), pointer_word(1, kOther)}, 32, stream);
  EXPECT_EQ(found(trace), kPossible);
  // A copy over the counters does race.
  trace.at({0x401300}).copy_async("cuMemcpyHtoDAsync_v2", kB, kBuffer, kHost, kBytes);
  EXPECT_EQ(found(trace), (HazardList{kPossible[0], kError[0]}));
}

TEST(Code, WhatIsProvedOfAKernelConvictsBesideWhatIsNot) {
  for (const bool overlap : {true, false}) {
    TraceBuilder trace = program();
    arguments(trace, 7, kCount, {kBuffer, kOther}, 32);
    trace.at({0x401100}).launch(kA, kCount, {pointer_word(0, kBuffer), pointer_word(1, kOther)}, 32, 7);
    // It reads four bytes of the table.
    trace.at({0x401300}).copy_async("cuMemcpyHtoDAsync_v2", kB, kOther + (overlap ? 0 : 4), kHost, 16);
    EXPECT_EQ(found(trace), overlap ? HazardList{"write-after-read/error/no-edge"} : kSilent);
  }
}

TEST(Code, FilesThatAreNotHereChangeNothing) {
  TraceBuilder trace = program();
  trace.module("/nowhere/program", 0x400000, 0x400000, 0x500000, "some build id");
  fill(trace, kA, 0, 1024, true);
  fill(trace, kB, 1024, 1000, true);
  EXPECT_EQ(hazards_of(judged(trace).findings), kPossible);
}

}  // namespace
}  // namespace streamsan::judge
