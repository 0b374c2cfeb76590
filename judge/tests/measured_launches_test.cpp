// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run teaches later ones: which launches touched what, and which of them a later run had better measure again.
#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::Known;
using trace::NonBlocking;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kBytes = 8192;
constexpr std::uint64_t kLeft = 1, kRight = 2, kLower = 1, kUpper = 2;
constexpr std::uint64_t kKey = 0xabc, kOther = 0xdef;

TraceBuilder program() {
  TraceBuilder trace;
  trace.function(kLeft, "_Z4leftPfi");
  trace.function(kRight, "_Z5rightPfi");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  trace.footprint(kLower, {piece(0, Piece::Mode::Write, 0, 64)});
  trace.footprint(kUpper, {piece(0, Piece::Mode::Write, 4096, 64)}, trace::kIncomplete);
  return trace;
}
void launched(TraceBuilder& trace, std::uint64_t function, std::uint64_t stream, std::uint64_t footprint = kLower,
              Known known = Known::Measured) {
  trace.at({0x401100 + function}).launch_known(stream, function, footprint, known, {pointer_word(0, kBuffer)});
}

TEST(MeasuredLaunches, AreToldWithTheirBytes) {
  TraceBuilder trace = program();
  trace.measured_launch(kKey, kLeft, 100, kLower);
  trace.measured_launch(kKey, kLeft, 100, kLower);
  trace.measured_launch(kKey, kLeft, 200, kLower);
  trace.measured_launch(kOther, kRight, 300, kUpper, 2);
  for (int i = 0; i < 5; ++i) launched(trace, kLeft, kA);
  const std::vector<MeasuredLaunch> out = judged(trace).measured_launches;
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].key, kKey);
  ASSERT_EQ(out[0].pieces.size(), 1u);
  EXPECT_EQ(out[0].pieces[0].offset, 0);
  EXPECT_EQ(out[0].pieces[0].width, 64u);
  EXPECT_FALSE(out[0].incomplete || out[0].varies || out[0].met);
  EXPECT_EQ(out[0].keys, 2);
  EXPECT_EQ(out[0].times, 1) << "one of the two was measured once";
  EXPECT_EQ(out[0].kernel_launches, 5u);
  EXPECT_EQ(out[1].key, kOther);
  EXPECT_TRUE(out[1].incomplete);
  EXPECT_EQ(out[1].times, 2) << "by an earlier run";
  EXPECT_EQ(out[1].kernel_launches, 0u);
}

TEST(MeasuredLaunches, VaryIfTheirBytesDifferOrNoPointerLeadsThere) {
  constexpr std::uint64_t kVariable = 3;
  TraceBuilder trace = program();
  trace.footprint(kVariable, {piece(Piece::kAbsolute, Piece::Mode::Read, 0x7000'1000'0000, 8)});
  trace.measured_launch(1, kLeft, 100, kLower);
  trace.measured_launch(1, kLeft, 100, kUpper);
  trace.measured_launch(2, kLeft, 200, kVariable);
  trace.measured_launch(3, kLeft, 300, kLower);
  trace.measured_launch(3, kLeft, 300, 99);
  trace.measured_launch(4, kLeft, 400, 99);
  trace.measured_launch(5, kLeft, 500, kLower);
  const std::vector<MeasuredLaunch> out = judged(trace).measured_launches;
  ASSERT_EQ(out.size(), 4u) << "a footprint that is not defined is none";
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(out[i].varies) << out[i].key;
    EXPECT_TRUE(out[i].pieces.empty());
  }
  EXPECT_EQ(out[3].key, 5u);
  EXPECT_FALSE(out[3].varies);
}

TEST(MeasuredLaunches, SayWhetherTheirKernelWasInAConflict) {
  for (const bool overlap : {true, false}) {
    for (const Known known : {Known::Measured, Known::Learned}) {
      TraceBuilder trace = program();
      trace.measured_launch(kKey, kLeft, 100, kLower);
      trace.measured_launch(kOther, kRight, 200, kLower);
      launched(trace, kLeft, kA);
      constexpr std::uint64_t kElsewhere = 4;
      trace.footprint(kElsewhere, {piece(0, Piece::Mode::Write, 4096, 64)});
      launched(trace, kRight, kB, overlap ? kLower : kElsewhere, known);
      const Judged out = judged(trace);
      EXPECT_EQ(out.findings.empty(), !overlap);
      ASSERT_EQ(out.measured_launches.size(), 2u);
      for (const MeasuredLaunch& each : out.measured_launches) EXPECT_EQ(each.met, overlap);
    }
  }
}

TEST(MeasuredLaunches, AllWereInAConflictIfNotAllConflictsAreKept) {
  TraceBuilder trace = program();
  trace.function(3, "_Z5thirdPfi");
  trace.measured_launch(kKey, 3, 100, kLower);
  launched(trace, kLeft, kA);
  launched(trace, kRight, kB);
  EXPECT_FALSE(judged(trace).measured_launches.at(0).met);
  EXPECT_TRUE(judged(trace, 0).measured_launches.at(0).met);
}

}  // namespace
}  // namespace streamsan::judge
