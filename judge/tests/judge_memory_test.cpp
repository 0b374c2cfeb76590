// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces through the judge: which bytes and which allocations records are about.
#include <gtest/gtest.h>

#include "judge/judge.h"
#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

TEST(Judge, ClassicFreeWhileInUseIsLatent) {
  for (bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    consume(trace);
    if (fixed) trace.sync_stream(kB);
    trace.free(kBuffer);
    std::vector<Finding> findings = judge(trace);
    if (fixed) {
      EXPECT_EQ(findings.size(), 0u);
      continue;
    }
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, Severity::Latent);
    EXPECT_EQ(findings[0].rule, "R-ALC-02");
    EXPECT_EQ(findings[0].hazard, report::Hazard::FreeWhileInUse);
    EXPECT_EQ(findings[0].accesses[0].stream.name, "the host");
    EXPECT_EQ(findings[0].accesses[0].stream.kind, report::StreamKind::Host);
  }
}

TEST(Judge, ShapedCopiesTouchTheirRowsOnly) {
  auto race_with_fill_at = [](std::uint64_t address) {
    TraceBuilder trace = two_streams();
    std::uint64_t shape[8] = {256, 64, 4, 1024, 256, 1, 0, 0};  // 4 rows of 64 bytes, 256 apart
    trace.add(trace::Kind::Copy, "cuMemcpy2DAsync_v2", {kA, 0, kBuffer, kHost, 64, 1}, shape, trace::kAsyncForm);
    trace.fill_async(kB, address, 64);
    return judge(trace).size();
  };
  EXPECT_EQ(race_with_fill_at(kBuffer + 256), 1u);
  EXPECT_EQ(race_with_fill_at(kBuffer + 64), 0u) << "between two rows";
  EXPECT_EQ(race_with_fill_at(kBuffer + 3 * 256 + 32), 1u);
  EXPECT_EQ(race_with_fill_at(kBuffer + 1024), 0u);
}

TEST(Judge, ACopyOfNoSlicesOrNoRowsTouchesNothing) {
  auto races = [](std::uint64_t height, std::uint64_t depth) {
    TraceBuilder trace = two_streams();
    std::uint64_t shape[8] = {128, 64, height, 512, 128, depth, 0, 0};
    trace.add(trace::Kind::Copy, "cuMemcpy3DAsync_v2", {kA, 0, kBuffer, kHost, 64, 1}, shape, trace::kAsyncForm);
    trace.fill_async(kB, kBuffer, 64);
    return judge(trace).size();
  };
  EXPECT_EQ(races(2, 1), 1u);
  EXPECT_EQ(races(2, 0), 0u);
  EXPECT_EQ(races(0, 3), 0u);
}

TEST(Judge, SubBoxesOfAVolumeMayInterleave) {
  // Two rows of 64 bytes in each of three slices; a row is 128 bytes, a slice four rows.
  auto copy_box = [](TraceBuilder& trace, std::uint64_t stream, std::uint64_t address) {
    std::uint64_t shape[8] = {128, 64, 2, 512, 128, 3, 0, 0};
    trace.add(trace::Kind::Copy, "cuMemcpy3DAsync_v2", {stream, 0, address, kHost, 64, 1}, shape, trace::kAsyncForm);
  };
  auto race_with_box_at = [&](std::uint64_t address) {
    TraceBuilder trace = two_streams();
    copy_box(trace, kA, kBuffer);
    copy_box(trace, kB, address);
    return judge(trace).size();
  };
  EXPECT_EQ(race_with_box_at(kBuffer + 64), 0u) << "beside it";
  EXPECT_EQ(race_with_box_at(kBuffer + 256), 0u) << "below it, in every slice";
  EXPECT_EQ(race_with_box_at(kBuffer + 128), 1u) << "one row of each slice is common";
  EXPECT_EQ(race_with_box_at(kBuffer + 2 * 512), 1u) << "one slice is common";
  EXPECT_EQ(race_with_box_at(kBuffer + 3 * 512), 0u);
}

TEST(Judge, SlicesOfOneBufferByKernelsAreAtMostPossible) {
  TraceBuilder trace = two_streams();
  trace.function(2, "_Z4workPfi");
  for (std::uint64_t i = 0; i < 4; ++i) {
    trace.stream_create(0x3000 + i, NonBlocking::Yes);
    trace.launch(0x3000 + i, 2, {pointer_word(0, kBuffer + i * 2048)}, 512, i);
  }
  for (const Finding& f : judge(trace)) EXPECT_EQ(f.severity, Severity::Possible);
}

TEST(Judge, ModuleVariablesLookedUpTwiceAreOneAllocation) {
  for (bool variable : {true, false}) {
    TraceBuilder trace = two_streams();
    auto look_up = [&] {
      trace.add(trace::Kind::Alloc, "cuModuleGetGlobal_v2", {kOther, 4096, 0, 0, TraceBuilder::kContext}, {},
                variable ? trace::kVariable : std::uint16_t{0});
    };
    look_up();
    trace.copy_async("cuMemcpyHtoDAsync_v2", kA, kOther, kHost, 4096);
    look_up();
    trace.launch(kB, kConsume, {pointer_word(0, kOther)}, 4096);
    const std::vector<Finding> findings = judge(trace);
    ASSERT_EQ(findings.size(), variable ? 1u : 0u);
    if (!variable) continue;
    EXPECT_TRUE(findings[0].buffer->variable);
    EXPECT_EQ(findings[0].buffer->memory, "a module's variable");
  }
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
