// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings that one missing edge explains, and repeats of one race, through the judge.
#include "judge/missing_edges.h"

#include <gtest/gtest.h>

#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

constexpr std::uint64_t kThird = 0x7000'0020'0000;

/// The two streams with three buffers; each call is made at a place of its own.
class Program {
 public:
  Program() : trace_(two_streams()) {
    trace_.at({0x401000}).alloc(kOther, kBytes);
    trace_.at({0x401000}).alloc(kThird, kBytes);
  }
  Program& copy(std::uint64_t place, std::uint64_t buffer, std::uint64_t stream = kA) {
    trace_.at({0x410000 + place}).copy_async("cuMemcpyHtoDAsync_v2", stream, buffer, kHost, kBytes);
    return *this;
  }
  Program& kernel(std::uint64_t place, std::uint64_t buffer, std::uint64_t stream = kB) {
    trace_.at({0x410000 + place}).launch(stream, kConsume, {pointer_word(0, buffer)}, kBytes);
    return *this;
  }
  Program& order() {
    trace_.event_record(kA, kEvent);
    trace_.event_wait(kB, kEvent);
    return *this;
  }
  TraceBuilder& trace() { return trace_; }
  [[nodiscard]] std::vector<Finding> findings() const { return judge(trace_); }

 private:
  TraceBuilder trace_;
};

TEST(MissingEdges, OneForgottenWaitIsOneGroupWithOneFix) {
  const auto findings = Program().copy(1, kBuffer).copy(2, kOther).kernel(3, kBuffer).kernel(4, kOther).findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].group, findings[0].fingerprint);
  EXPECT_EQ(findings[1].group, findings[0].fingerprint);
  EXPECT_NE(findings[1].fingerprint, findings[0].fingerprint);
  // It lies behind the last copy and in front of the first kernel. They have no lines here, so the numbers tell which.
  EXPECT_EQ(findings[0].fix, findings[1].fix);
  EXPECT_EQ(findings[0].fix,
            "record an event on stream 1 after cuMemcpyHtoDAsync (host to device) (op #2) and call "
            "cuStreamWaitEvent(stream 2, event) before kernel consume(float const*) (op #3).");
}

TEST(MissingEdges, TwoForgottenWaitsAreTwo) {
  const auto findings = Program().copy(1, kBuffer).kernel(2, kBuffer).copy(3, kOther).kernel(4, kOther).findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].group, "");
  EXPECT_EQ(findings[1].group, "");
}

TEST(MissingEdges, TheFewestThatRepairAll) {
  // The first edge has to be before place 3, the second before place 5; the copy at 4 comes behind the first.
  const auto findings = Program()
                            .copy(1, kBuffer)
                            .copy(2, kOther)
                            .kernel(3, kBuffer)
                            .copy(4, kThird)
                            .kernel(5, kOther)
                            .kernel(6, kThird)
                            .findings();
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].group, findings[0].fingerprint);
  EXPECT_EQ(findings[1].group, findings[0].fingerprint);
  EXPECT_EQ(findings[2].group, "");
}

TEST(MissingEdges, OtherStreamsAndOtherDirectionsAreOtherEdges) {
  constexpr std::uint64_t kC = 0x3000;
  Program program;
  program.trace().stream_create(kC, NonBlocking::Yes);
  auto findings = program.copy(1, kBuffer).copy(2, kOther).kernel(3, kBuffer).kernel(4, kOther, kC).findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].group + findings[1].group, "");
  findings = Program().copy(1, kBuffer).copy(2, kOther, kB).kernel(3, kBuffer).kernel(4, kOther, kA).findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].group + findings[1].group, "");
}

TEST(MissingEdges, OtherExplanationsAreOtherGroups) {
  // What is before the record, and so ordered, is not reported; what is behind it has the event as its cause.
  const auto findings = Program()
                            .copy(1, kBuffer)
                            .order()
                            .copy(2, kBuffer)
                            .copy(3, kOther)
                            .kernel(4, kBuffer)
                            .kernel(5, kOther)
                            .findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].cause, report::Cause::RecordedTooEarly);
  EXPECT_EQ(findings[1].group, findings[0].group);
  EXPECT_NE(findings[0].group, "");
  EXPECT_EQ(Program().copy(1, kBuffer).copy(2, kOther).order().kernel(3, kBuffer).kernel(4, kOther).findings().size(),
            0u);
}

TEST(MissingEdges, TheHostsAccessesLackOneWait) {
  Program program;
  program.copy(1, kBuffer).copy(2, kOther);
  program.trace().at({0x410003}).free(kBuffer);
  program.trace().at({0x410004}).free(kOther);
  const auto findings = program.findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].group, findings[0].fingerprint);
  EXPECT_EQ(findings[1].group, findings[0].fingerprint);
}

TEST(MissingEdges, AWeakerRepeatIsFoldedIntoTheRace) {
  // Of one place: the whole buffer for certain, and then a piece of it that a pointer may or may not reach.
  Program program;
  program.copy(1, kBuffer).kernel(2, kBuffer);
  program.trace().sync_context();
  program.trace().at({0x410001}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer + 4096, kHost, 16);
  program.kernel(2, kBuffer);
  const auto findings = program.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::Error);
  EXPECT_EQ(findings[0].count, 1u);
  EXPECT_EQ(findings[0].weaker, 1u);
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
