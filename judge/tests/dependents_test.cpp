// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that are launched to overlap the one in front of them: what their code makes of that, from a trace to a
// finding.
#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::kAtStart;
using trace::kAtTrigger;
using trace::kProgrammatic;
using trace::NonBlocking;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0x3000;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kOther = 0x7100'0000'0000, kBytes = 8192;
constexpr std::uint64_t kProduce = 1, kQuiet = 2, kEarly = 3, kLate = 4, kNever = 5, kNoCode = 6;

// Each takes one pointer, through which it writes (produce, quiet) or reads one word.
constexpr const char* kCode = R"(
.version 8.0
.target sm_90
.visible .entry _Z7producePf(.param .u64 p) {
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; griddepcontrol.launch_dependents; st.global.u32 [%rd1], 0; ret;
}
.visible .entry _Z5quietPf(.param .u64 p) {
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], 0; ret;
}
.visible .entry _Z5earlyPf(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; griddepcontrol.wait; ret;
}
.visible .entry _Z4latePf(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; griddepcontrol.wait; ld.global.u32 %r1, [%rd1]; ret;
}
.visible .entry _Z5neverPf(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; griddepcontrol.launch_dependents; ld.global.u32 %r1, [%rd1]; ret;
}
)";

const HazardList kError{"read-after-write/error/dependent-launch"};
const HazardList kSilent;

TraceBuilder program() {
  TraceBuilder trace;
  trace.function(kProduce, "_Z7producePf");
  trace.function(kQuiet, "_Z5quietPf");
  trace.function(kEarly, "_Z5earlyPf");
  trace.function(kLate, "_Z4latePf");
  trace.function(kNever, "_Z5neverPf");
  trace.function(kNoCode, "_Z6nocodePf");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.event_create(kEvent);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  trace.alloc(kOther, kBytes);
  return trace;
}

/// A launch whose arguments are in the trace.
void launch(TraceBuilder& trace, std::uint64_t function, std::uint16_t flags = kProgrammatic,
            std::uint64_t pointer = kBuffer) {
  const std::uint64_t words[] = {pointer};
  trace.arguments(pointer, function, {1, 1, 1}, {1, 1, 1}, std::as_bytes(std::span(words)));
  trace.at({0x401100 + function}).launch(kA, function, {pointer_word(0, pointer)}, 1, pointer, flags);
}

HazardList found(const TraceBuilder& trace, bool read_code = true) {
  return hazards_of(judged(trace, 1000, kCode, read_code).findings);
}
HazardList behind(std::uint64_t primary, std::uint64_t dependent, std::uint16_t flags = kProgrammatic) {
  TraceBuilder trace = program();
  launch(trace, primary, 0);
  launch(trace, dependent, flags);
  return found(trace);
}

TEST(DependentLaunches, BeforeTheWaitBehindItAndWithoutOne) {
  EXPECT_EQ(behind(kProduce, kEarly), kError);
  EXPECT_EQ(behind(kProduce, kLate), kSilent);
  EXPECT_EQ(behind(kProduce, kNever), kError);
  EXPECT_EQ(behind(kProduce, kEarly, 0), kSilent);
}

TEST(DependentLaunches, WhatIsNotKnownIsNoError) {
  // The one in front never triggers, or has no code.
  EXPECT_EQ(behind(kQuiet, kEarly), HazardList{"read-after-write/latent/dependent-launch"});
  EXPECT_EQ(behind(kNoCode, kEarly), HazardList{"read-after-write/possible/dependent-launch"});
  // Nothing is known of the launch itself.
  EXPECT_EQ(behind(kProduce, kNoCode), kSilent);
  TraceBuilder trace = program();
  launch(trace, kProduce, 0);
  launch(trace, kEarly);
  EXPECT_EQ(found(trace, /*read_code=*/false), kSilent);
}

TEST(DependentLaunches, WithoutArgumentsTheCodeStillTells) {
  for (const std::uint64_t dependent : {kEarly, kLate}) {
    TraceBuilder trace = program();
    trace.at({0x401100}).launch(kA, kProduce, {pointer_word(0, kBuffer)}, 1, 1);
    trace.at({0x401200}).launch(kA, dependent, {pointer_word(0, kBuffer)}, 1, 1, kProgrammatic);
    EXPECT_EQ(found(trace).size(), dependent == kEarly ? 1u : 0u);
  }
}

TEST(DependentLaunches, MeasuredBytesAreToldApartByTheCode) {
  for (const std::uint64_t dependent : {kEarly, kLate}) {
    TraceBuilder trace = program();
    launch(trace, kProduce, 0);
    const std::uint64_t words[] = {kBuffer};
    trace.arguments(kBuffer, dependent, {1, 1, 1}, {1, 1, 1}, std::as_bytes(std::span(words)));
    trace.footprint(7, {trace::piece(0, trace::Piece::Mode::Read, 0, 64)});
    trace.at({0x401200})
        .launch_known(kA, dependent, 7, trace::Known::Measured, {pointer_word(0, kBuffer)}, 1, kBuffer, kProgrammatic);
    EXPECT_EQ(found(trace), dependent == kEarly ? kError : kSilent);
  }
}

TEST(DependentLaunches, AChainWhoseMiddleDidNotWait) {
  for (const std::uint64_t middle : {kNever, kLate}) {
    TraceBuilder trace = program();
    launch(trace, kProduce);
    launch(trace, middle, kProgrammatic, kOther);
    launch(trace, kLate);
    EXPECT_EQ(found(trace), middle == kNever ? kError : kSilent);
  }
}

TEST(DependentLaunches, ACopyBetweenEndsTheOverlap) {
  TraceBuilder trace = program();
  launch(trace, kProduce, 0);
  trace.at({0x401300}).copy_async("cuMemcpyDtoDAsync_v2", kA, kOther, kOther + 4096, 64);
  launch(trace, kNever);
  EXPECT_EQ(found(trace), kSilent);
}

TEST(LaunchEvents, SayNothingOfTheKernel) {
  const auto sent = [](std::uint64_t producer, std::uint16_t flags) {
    TraceBuilder trace = program();
    launch(trace, producer, 0);
    trace.event_record(kA, kEvent, flags);
    trace.event_wait(kB, kEvent);
    trace.at({0x401300}).copy_async("cuMemcpyDtoDAsync_v2", kB, kOther, kBuffer, 64);
    return found(trace);
  };
  EXPECT_EQ(sent(kProduce, kAtStart), HazardList{"read-after-write/error/launch-event"});
  EXPECT_EQ(sent(kProduce, kAtTrigger), HazardList{"read-after-write/error/launch-event"});
  EXPECT_EQ(sent(kQuiet, kAtTrigger), HazardList{"read-after-write/latent/launch-event"});
  EXPECT_EQ(sent(kProduce, 0), kSilent);
}

}  // namespace
}  // namespace streamsan::judge
