// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the documents of a library promise of a launch is sure, whatever else is known of it.
#include <gtest/gtest.h>

#include <functional>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::NonBlocking;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kBuffer = 0x7000'0000'0000, kBytes = 8192, kHalf = kBytes / 2;
constexpr std::uint64_t kKernel = 1, kPromise = 10, kFootprint = 11, kUndefined = 12;

/// A kernel whose library promises that it writes the first half of a buffer, and a fill of `bytes` at `at` in another
/// stream.
Judged beside_fill(const std::function<void(TraceBuilder&)>& launch, std::uint64_t at, std::uint64_t bytes = 64) {
  TraceBuilder trace;
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.at({0x400100}).alloc(kBuffer, kBytes);
  trace.function(kKernel, "product");
  trace.footprint(kPromise, {piece(0, Piece::Mode::Write, 0, kHalf)}, trace::kIncomplete | trace::kPromised);
  trace.footprint(kFootprint, {piece(0, Piece::Mode::Write, kHalf, 1024)});
  trace.at({0x400200});
  launch(trace);
  trace.at({0x400300}).fill_async(kB, at, bytes);
  return judged(trace);
}

testing::AssertionResult one(const Judged& judged, report::Severity severity) {
  if (judged.findings.size() == 1 && judged.findings[0].severity == severity) return testing::AssertionSuccess();
  return testing::AssertionFailure() << judged.findings.size() << " findings";
}

auto promised(std::uint64_t footprint, std::uint16_t flags = 0, std::uint64_t promise = kPromise) {
  return
      [=](TraceBuilder& t) { t.launch_promised(kA, kKernel, promise, footprint, {pointer_word(0, kBuffer)}, flags); };
}

TEST(Promise, IsSureOnItsOwn) {
  EXPECT_TRUE(one(beside_fill(promised(0), kBuffer), report::Severity::Error));
  EXPECT_TRUE(one(beside_fill(promised(0), kBuffer + kHalf), report::Severity::Possible))
      << "the pointer reaches there";
}

TEST(Promise, IsSureBesideWhatIsLearned) {
  const Judged met = beside_fill(promised(kFootprint), kBuffer);
  EXPECT_TRUE(one(met, report::Severity::Error));
  EXPECT_TRUE(met.asked.empty()) << "nothing is left to decide";
  EXPECT_TRUE(one(beside_fill(promised(kFootprint), kBuffer + kHalf), report::Severity::Possible));
  EXPECT_TRUE(beside_fill(promised(kFootprint), kBuffer + kHalf + 2048).findings.empty());
}

TEST(Promise, IsKeptBesideWhatIsMeasured) {
  for (const std::uint64_t at : {kBuffer, kBuffer + kHalf})
    EXPECT_TRUE(one(beside_fill(promised(kFootprint, trace::kMeasured), at), report::Severity::Error)) << at;
  EXPECT_TRUE(beside_fill(promised(kFootprint, trace::kMeasured), kBuffer + kHalf + 2048).findings.empty());
}

TEST(Promise, ASlowKernelIsNotDoubtedForIt) {
  EXPECT_TRUE(one(beside_fill(promised(0, trace::kWaits), kBuffer), report::Severity::Error));
  EXPECT_TRUE(one(beside_fill(promised(0, trace::kWaits), kBuffer + kHalf), report::Severity::Possible));
}

TEST(Promise, StoodForAFootprintUpToFormat13) {
  const auto older = [](TraceBuilder& t) {
    t.launch_known(kA, kKernel, kPromise, trace::Known::Learned, {pointer_word(0, kBuffer)});
  };
  EXPECT_TRUE(one(beside_fill(older, kBuffer), report::Severity::Error));
  EXPECT_TRUE(one(beside_fill(older, kBuffer + kHalf), report::Severity::Possible));
}

TEST(Promise, ThatIsNotDefinedSaysNothing) {
  EXPECT_TRUE(one(beside_fill(promised(0, 0, kUndefined), kBuffer), report::Severity::Possible));
  EXPECT_TRUE(beside_fill(promised(kFootprint, 0, kUndefined), kBuffer).findings.empty());
}

}  // namespace
}  // namespace streamsan::judge
