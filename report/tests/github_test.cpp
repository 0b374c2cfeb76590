// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/github.h"

#include <gtest/gtest.h>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

std::string annotations(const std::vector<Finding>& findings, const FormatContext& context = kContext) {
  return github(findings, {}, context);
}

TEST(Github, AnError) {
  EXPECT_EQ(
      annotations({sample_race()}),
      "::error file=train.cu,line=88,col=5,title=streamsan%3A read-after-write race::kernel consume(float const*) "
      "on stream 2 reads device memory that cudaMemcpyAsync (host to device) on stream 1 may still be writing."
      "%0Astream 2 waits for event 1 (op #17), but it was recorded at op #12, BEFORE the copy (op #15).%0AFix: "
      "move cudaEventRecord (train.cu:60) behind cudaMemcpyAsync (host to device).\n");
}

TEST(Github, TheMostSevereComesFirst) {
  Finding possible = sample_race();
  possible.severity = Severity::Possible;
  possible.fingerprint = "2";
  FormatContext all = kContext;
  all.least = Severity::Note;
  const std::string out = annotations({possible, sample_misuse(), sample_race()}, all);
  const std::size_t error = out.find("::error "), warning = out.find("::warning "), notice = out.find("::notice ");
  EXPECT_EQ(error, 0u);
  EXPECT_LT(error, warning);
  EXPECT_LT(warning, notice);
  EXPECT_NE(notice, std::string::npos);
  EXPECT_EQ(annotations({possible}), "") << "not shown unless asked for";
}

TEST(Github, WhatIsSuppressedOrFoldedIsNotSaidAgain) {
  Finding suppressed = sample_race();
  suppressed.suppressed = true;
  EXPECT_EQ(annotations({suppressed}), "");
  Finding other = sample_race();
  other.pid = 4712;
  const std::string out = annotations({sample_race(), other});
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1);
}

TEST(Github, NamesCannotMakeCommands) {
  const std::string out = annotations({sample_nasty()});
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  EXPECT_EQ(out.find('\r'), std::string::npos);
  // The properties end at the first "::" behind the command's own.
  const std::string properties = out.substr(0, out.find("::", 2));
  EXPECT_TRUE(properties.ends_with("title=streamsan%3A read-after-write race")) << properties;
  EXPECT_EQ(std::count(properties.begin(), properties.end(), ','), 3) << properties;
  EXPECT_NE(properties.find("a%25b%3Ac%2Cd "), std::string::npos) << properties;
}

TEST(Github, WithoutALineOrAFile) {
  Finding f = sample_race();
  for (AccessReport& access : f.accesses) access.stack.clear();
  EXPECT_TRUE(annotations({f}).starts_with("::error title=streamsan%3A read-after-write race::"));
  f = sample_race();
  f.accesses[0].stack[1].line = 0;
  EXPECT_TRUE(annotations({f}).starts_with("::error file=train.cu,title=")) << annotations({f});
}

TEST(Github, ARunThatWasNotJudgedWholeIsAnError) {
  EXPECT_EQ(github({}, {}, kContext), "");
  EXPECT_TRUE(github({}, {.whole = false}, kContext).starts_with("::error title=streamsan::"));
}

TEST(Github, SynchronisationThatCouldGo) {
  EXPECT_TRUE(annotations({sample_sync()}).starts_with("::notice file=train.cu,line=99,col=3,title="))
      << annotations({sample_sync()});
  Finding needed = sample_sync();
  needed.sync->verdict = Verdict::Needed;
  EXPECT_EQ(annotations({needed}), "");
}

}  // namespace
}  // namespace streamsan::report
