// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run(): what goes to the sinks, and what the verdict says besides findings.
#include "judge/run.h"

#include <gtest/gtest.h>

#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

TraceBuilder racy() {
  TraceBuilder trace = two_streams();
  trace.set_end(trace::End::Exited);
  produce(trace);
  consume(trace);
  return trace;
}

Verdict verdict_on(const std::string& bytes, const Sinks& sinks = {}) {
  Verdict verdict;
  TemporaryFile file(bytes);
  std::string error;
  const auto reader = trace::Reader::open(file.path(), {}, error);
  EXPECT_TRUE(reader) << error;
  if (reader) run(*reader, {.trace = file.path(), .max_findings = 10}, sinks, verdict);
  return verdict;
}

TEST(Run, ARaceIsAFindingAndItsRepairIsNone) {
  const Verdict verdict = verdict_on(racy().bytes());
  EXPECT_EQ(hazards_of(verdict.findings), HazardList{"read-after-write/error/no-edge"});
  EXPECT_EQ(verdict.damage, "");
  EXPECT_EQ(verdict.operations, 2u);
  TraceBuilder repaired = two_streams();
  repaired.set_end(trace::End::Exited);
  produce(repaired);
  consume(repaired, kA);
  EXPECT_TRUE(verdict_on(repaired.bytes()).findings.empty());
}

TEST(Run, AnErrorIsReportedOnceAndAtOnce) {
  TraceBuilder trace = racy();
  for (int i = 0; i < 3; ++i) consume(trace);
  int reported = 0;
  Sinks sinks;
  sinks.error = [&](report::Finding& finding) {
    ++reported;
    EXPECT_EQ(finding.hazard, report::Hazard::ReadAfterWrite);
  };
  EXPECT_EQ(verdict_on(trace.bytes(), sinks).findings.size(), 1u);
  EXPECT_EQ(reported, 1);
}

TEST(Run, WhoStopsItGetsWhatWasJudged) {
  TraceBuilder trace = racy();
  for (int i = 0; i < 20'000; ++i) trace.event_record(kA, kEvent);
  const std::string bytes = trace.bytes();
  Sinks sinks;
  bool stop = false;
  std::uint64_t read = 0;
  sinks.stop = [&] { return stop; };
  sinks.progress = [&](const trace::Reader& reader) { read = reader.position(); };
  EXPECT_TRUE(verdict_on(bytes, sinks).warnings.empty());
  EXPECT_GT(read, 10'000u);
  stop = true;
  const Verdict stopped = verdict_on(bytes, sinks);
  EXPECT_EQ(stopped.findings.size(), 1u);
  EXPECT_EQ(stopped.warnings, std::vector<std::string>{"interrupted: the rest of the trace was not judged"});
}

TEST(Run, ADamagedTraceIsJudgedAsFarAsItIsWhole) {
  TraceBuilder trace = racy();
  for (int i = 0; i < 100; ++i) trace.event_record(kA, kEvent);
  std::string bytes = trace.bytes();
  bytes.resize(trace::kHeaderBytes + 60 * trace::kSlotBytes);
  const Verdict verdict = verdict_on(bytes);
  EXPECT_EQ(verdict.findings.size(), 1u);
  EXPECT_NE(verdict.damage.find("the trace is truncated"), std::string::npos) << verdict.damage;
}

TEST(Run, HowARecordingEndedIsSaid) {
  TraceBuilder trace = racy();
  trace.set_end(trace::End::Internal);
  const Verdict verdict = verdict_on(trace.bytes());
  ASSERT_EQ(verdict.warnings.size(), 1u);
  EXPECT_NE(verdict.warnings[0].find("the recorder switched itself off"), std::string::npos);
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
