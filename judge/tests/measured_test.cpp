// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches whose bytes are known, through the judge: what convicts, what is asked for, and what becomes of a possible
// finding once the kernels were measured. Each firing case beside one that must stay silent.
#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using report::Evidence;
using report::Severity;
using trace::Known;
using trace::NonBlocking;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kHost = 0x5000, kBytes = 8192, kHalf = kBytes / 2;
constexpr std::uint64_t kLeft = 1, kRight = 2;  // kernels, each launched at a site of its own
constexpr std::uint64_t kLower = 1, kUpper = 2, kMiddle = 3, kAtomic = 4, kWide = 5, kMore = 6;  // footprints
constexpr Piece::Mode R = Piece::Mode::Read, W = Piece::Mode::Write;

/// Two unordered streams, two kernels, a buffer, and footprints: its lower half, its upper half, and what overlaps
/// both.
TraceBuilder program() {
  TraceBuilder trace;
  trace.function(kLeft, "_Z4leftPfi");
  trace.function(kRight, "_Z5rightPfi");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  trace.footprint(kLower, {piece(0, W, 0, kHalf)});
  trace.footprint(kUpper, {piece(0, W, kHalf, kHalf)});
  trace.footprint(kMiddle, {piece(0, W, kHalf - 256, 512)});
  trace.footprint(kAtomic, {piece(0, Piece::Mode::Atomic, 0, kBytes)});
  Piece wide = piece(0, W, 0, kBytes);
  wide.flags = Piece::kWidened;
  trace.footprint(kWide, {wide});
  trace.footprint(kMore, {piece(0, R, 0, 8)}, trace::kIncomplete);
  return trace;
}
void left(TraceBuilder& t, std::uint64_t footprint, Known known) {
  t.at({0x401100}).launch_known(kA, kLeft, footprint, known, {pointer_word(0, kBuffer)});
}
void right(TraceBuilder& t, std::uint64_t footprint, Known known) {
  t.at({0x401200}).launch_known(kB, kRight, footprint, known, {pointer_word(0, kBuffer)});
}

const HazardList kError{"write-after-write/error/no-edge"};
const HazardList kPossible{"write-after-write/possible/no-edge"};
const HazardList kSilent;
using Ids = std::vector<std::uint64_t>;

std::vector<Severity> severities(const Judged& out) {
  std::vector<Severity> all;
  for (const report::Finding& finding : out.findings) all.push_back(finding.severity);
  return all;
}
using Severities = std::vector<Severity>;

TEST(Measured, WhatOverlapsIsAnErrorAndWhatDoesNotIsSilent) {
  for (bool overlap : {true, false}) {
    TraceBuilder trace = program();
    left(trace, kLower, Known::Measured);
    right(trace, overlap ? kMiddle : kUpper, Known::Measured);
    const Judged out = judged(trace);
    ASSERT_EQ(hazards_of(out.findings), overlap ? kError : kSilent);
    EXPECT_EQ(out.asked, Ids{}) << "nothing is left to ask";
    if (!overlap) continue;
    EXPECT_EQ(out.findings[0].overlap_begin, kBuffer + kHalf - 256);
    EXPECT_EQ(out.findings[0].overlap_end, kBuffer + kHalf);
    for (const report::AccessReport& access : out.findings[0].accesses) EXPECT_EQ(access.evidence, Evidence::Exact);
  }
}

TEST(Measured, ACopyBesideAKernel) {
  for (bool overlap : {true, false}) {
    TraceBuilder trace = program();
    left(trace, kLower, Known::Measured);
    trace.at({0x401300}).copy_async("cuMemcpyHtoDAsync_v2", kB, kBuffer + (overlap ? 0 : kHalf), kHost, kHalf);
    EXPECT_EQ(hazards_of(judged(trace).findings), overlap ? kError : kSilent);
  }
}

TEST(Measured, AtomicsOfTwoKernelsAreSilent) {
  TraceBuilder trace = program();
  left(trace, kAtomic, Known::Measured);
  right(trace, kAtomic, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kSilent);
  right(trace, kMiddle, Known::Measured);
  const Judged out = judged(trace);
  EXPECT_EQ(hazards_of(out.findings), kError);
  EXPECT_EQ(out.findings[0].accesses[1].verb, report::Verb::AtomicUpdate);
}

TEST(Learned, OverlapIsPossibleAndBothKernelsAreAskedFor) {
  for (bool overlap : {true, false}) {
    TraceBuilder trace = program();
    left(trace, kLower, Known::Measured);
    right(trace, overlap ? kMiddle : kUpper, Known::Learned);
    const Judged out = judged(trace);
    ASSERT_EQ(hazards_of(out.findings), overlap ? kPossible : kSilent);
    EXPECT_EQ(out.asked, overlap ? (Ids{kLeft, kRight}) : Ids{});
    if (!overlap) continue;
    EXPECT_EQ(out.findings[0].accesses[0].evidence, Evidence::Learned);
    EXPECT_EQ(out.findings[0].accesses[1].evidence, Evidence::Exact);
    EXPECT_NE(out.findings[0].explanation.find("learned from earlier launches"), std::string::npos);
  }
}

TEST(Learned, AnInferredKernelIsAskedForToo) {
  TraceBuilder trace = program();
  left(trace, kLower, Known::Measured);
  trace.at({0x401200}).launch(kB, kRight, {pointer_word(0, kBuffer)}, /*device_threads=*/kBytes);
  const Judged out = judged(trace);
  EXPECT_EQ(hazards_of(out.findings), kPossible);
  EXPECT_EQ(out.asked, (Ids{kLeft, kRight}));
}

TEST(Learned, NobodyIsAskedWhenMeasuringWouldNotDecide) {
  TraceBuilder signalled = program();
  left(signalled, kLower, Known::Measured);
  signalled.add(trace::Kind::HostFunction, "cuLaunchHostFunc", {kA, TraceBuilder::kContext});
  right(signalled, kMiddle, Known::Measured);
  EXPECT_EQ(hazards_of(judged(signalled).findings), kPossible) << "a host function may have signalled that it is done";
  EXPECT_EQ(judged(signalled).asked, Ids{});

  TraceBuilder hidden = program();
  hidden.unmodelled("cuCtxWaitEvent", 1);
  left(hidden, kLower, Known::Learned);
  right(hidden, kMiddle, Known::Learned);
  EXPECT_EQ(hazards_of(judged(hidden).findings), kPossible) << "order that is not seen";
  EXPECT_EQ(judged(hidden).asked, Ids{});

  TraceBuilder wide = program();
  left(wide, kWide, Known::Measured);
  right(wide, kMiddle, Known::Measured);
  const Judged out = judged(wide);
  EXPECT_EQ(hazards_of(out.findings), kPossible) << "an upper bound does not convict";
  EXPECT_EQ(out.asked, Ids{}) << "and would be one again";
  EXPECT_EQ(out.findings[0].accesses[1].evidence, Evidence::Widened);
}

TEST(Learned, AMeasuredTurnMakesItAnErrorAndTheOnlyFinding) {
  TraceBuilder trace = program();
  left(trace, kLower, Known::Learned);
  right(trace, kMiddle, Known::Learned);
  EXPECT_EQ(hazards_of(judged(trace).findings), kPossible);
  trace.sync_context();
  left(trace, kLower, Known::Measured);
  right(trace, kMiddle, Known::Measured);
  EXPECT_EQ(severities(judged(trace)), Severities{Severity::Error});
  const Judged few = judged(trace, 1);
  EXPECT_EQ(severities(few), Severities{Severity::Error}) << "the limit counts findings that stand";
  EXPECT_EQ(few.dropped, 0u);
  trace.sync_context();
  left(trace, kLower, Known::Learned);
  right(trace, kMiddle, Known::Learned);
  EXPECT_EQ(severities(judged(trace)), Severities{Severity::Error}) << "a possible one afterwards says nothing new";
}

TEST(Learned, AMeasuredTurnWithoutConflictRefutesIt) {
  TraceBuilder trace = program();
  left(trace, kLower, Known::Learned);
  right(trace, kMiddle, Known::Learned);
  trace.sync_context();
  left(trace, kLower, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kPossible) << "one side is not enough";
  right(trace, kUpper, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kSilent);
  EXPECT_EQ(judged(trace).refuted, 1u);
  trace.sync_context();
  left(trace, kLower, Known::Learned);
  right(trace, kMiddle, Known::Learned);
  EXPECT_EQ(hazards_of(judged(trace).findings), kPossible) << "it came up again";
}

TEST(Learned, AMeasurementAtAnotherSiteRefutesNothing) {
  TraceBuilder trace = program();
  left(trace, kLower, Known::Learned);
  right(trace, kMiddle, Known::Learned);
  trace.sync_context();
  left(trace, kLower, Known::Measured);
  trace.at({0x401999}).launch_known(kB, kRight, kUpper, Known::Measured, {pointer_word(0, kBuffer)});
  const Judged out = judged(trace);
  EXPECT_EQ(hazards_of(out.findings), kPossible);
  EXPECT_EQ(out.asked, (Ids{kLeft, kRight, kRight})) << "the site in question has not had its turn";
}

TEST(Learned, AKernelThatRacesWithItselfNeedsTwoMeasuredLaunches) {
  TraceBuilder trace = program();
  const auto launch = [&trace](std::uint64_t stream, std::uint64_t footprint, Known known) {
    trace.launch_known(stream, kLeft, footprint, known, {pointer_word(0, kBuffer)});
  };
  launch(kA, kLower, Known::Learned);
  launch(kB, kMiddle, Known::Learned);
  trace.sync_context();
  launch(kA, kLower, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kPossible);
  launch(kB, kUpper, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kSilent);
}

TEST(Learned, AnErrorIsNeverRefuted) {
  TraceBuilder trace = program();
  left(trace, kLower, Known::Measured);
  right(trace, kMiddle, Known::Measured);
  trace.sync_context();
  left(trace, kLower, Known::Measured);
  right(trace, kUpper, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kError);
}

TEST(Learned, AnIncompleteMeasurementRefutesNothing) {
  TraceBuilder trace = program();
  left(trace, kLower, Known::Learned);
  right(trace, kMiddle, Known::Learned);
  trace.sync_context();
  left(trace, kLower, Known::Measured);
  trace.sync_context();
  right(trace, kMore, Known::Measured);
  EXPECT_EQ(hazards_of(judged(trace).findings), kPossible);
}

TEST(Footprint, AnIncompleteOneLeavesThePointersInDoubt) {
  TraceBuilder trace = program();
  left(trace, kUpper, Known::Measured);
  right(trace, kMore, Known::Measured);
  const Judged out = judged(trace);
  EXPECT_EQ(hazards_of(out.findings), kPossible) << "it may reach the upper half";
  EXPECT_EQ(out.findings[0].accesses[0].evidence, Evidence::Inferred);
}

TEST(Footprint, OneThatIsNotDefinedLeavesWhatThePointersTell) {
  const auto with = [](std::uint64_t footprint, bool open) {
    TraceBuilder trace = program();
    const Piece far[] = {piece(0, R, kHalf, 8)};
    if (open) trace.footprint(footprint, far, 0, true);
    trace.at({0x401300}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kHalf);
    right(trace, footprint, Known::Measured);
    return hazards_of(judged(trace).findings);
  };
  EXPECT_EQ(with(kUpper, false), kSilent);
  EXPECT_EQ(with(77, false), kError) << "the copy holds the pointer, and the kernel has no other result";
  EXPECT_EQ(with(77, true), kError) << "its end is missing";
}

}  // namespace
}  // namespace streamsan::judge
