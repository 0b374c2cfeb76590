// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/suppressions.h"

#include <gtest/gtest.h>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

TEST(Pattern, MatchesAnywhereUnlessTied) {
  EXPECT_TRUE(pattern_matches("consume", "ns::consume(float const*)"));
  EXPECT_FALSE(pattern_matches("^consume", "ns::consume(float const*)"));
  EXPECT_TRUE(pattern_matches("^ns::", "ns::consume(float const*)"));
  EXPECT_TRUE(pattern_matches("const*)$", "ns::consume(float const*)"));
  EXPECT_FALSE(pattern_matches("consume$", "ns::consume(float const*)"));
  EXPECT_TRUE(pattern_matches("^ns::*(float const*)$", "ns::consume(float const*)"));
  EXPECT_FALSE(pattern_matches("^consume$", "consume2"));
  EXPECT_TRUE(pattern_matches("^consume$", "consume"));
  EXPECT_TRUE(pattern_matches("*", "anything"));
  EXPECT_FALSE(pattern_matches("a*c*e", "abd"));
  EXPECT_TRUE(pattern_matches("a*c*e", "xxabcdexx"));
}

bool suppressed_by(const std::string& line, const Finding& finding = sample_race()) {
  Suppressions suppressions;
  EXPECT_EQ(suppressions.add(line, "supp"), "");
  return suppressions.suppresses(finding);
}

TEST(Suppressions, EachTypeLooksAtItsOwnField) {
  EXPECT_TRUE(suppressed_by("race:step"));
  EXPECT_TRUE(suppressed_by("race:train.cu")) << "file";
  EXPECT_TRUE(suppressed_by("race:^/opt/app/train$")) << "module";
  EXPECT_TRUE(suppressed_by("race:consume")) << "kernel";
  EXPECT_TRUE(suppressed_by("race:cuMemcpyHtoDAsync")) << "driver function";
  EXPECT_FALSE(suppressed_by("race:other"));
  EXPECT_FALSE(suppressed_by("premature-free:step")) << "another kind";
  EXPECT_FALSE(suppressed_by("host-race:*"));
  EXPECT_TRUE(suppressed_by("all:step"));
  EXPECT_TRUE(suppressed_by("kernel:^consume(float const*)$"));
  EXPECT_FALSE(suppressed_by("kernel:step"));
  EXPECT_TRUE(suppressed_by("stream:^stream 2$"));
  EXPECT_FALSE(suppressed_by("stream:stream 3"));
  EXPECT_TRUE(suppressed_by("function:^load()$")) << "the earlier access counts too";
  EXPECT_TRUE(suppressed_by("called_from:^main$"));
  EXPECT_FALSE(suppressed_by("function:train.cu"));
  EXPECT_TRUE(suppressed_by("lib:/opt/app"));
  EXPECT_FALSE(suppressed_by("lib:step"));
}

TEST(Suppressions, CountsHitsAndKnowsUnusedEntries) {
  Suppressions suppressions;
  ASSERT_EQ(suppressions.add("# comment\n\n  race:step  \r\nkernel:never\n", "my.supp"), "");
  ASSERT_EQ(suppressions.entries().size(), 2u);
  Finding finding = sample_race();
  finding.count = 5;
  EXPECT_TRUE(suppressions.suppresses(finding));
  EXPECT_TRUE(suppressions.suppresses(sample_race()));
  EXPECT_EQ(suppressions.entries()[0].hits, 6u);
  EXPECT_EQ(suppressions.entries()[0].origin, "my.supp:3");
  EXPECT_EQ(suppressions.entries()[1].hits, 0u);
}

TEST(Suppressions, SaysWhatIsWrongAndWhere) {
  Suppressions suppressions;
  EXPECT_EQ(suppressions.add("race:ok\nraces:step\n", "my.supp"),
            "my.supp:2: 'races:step' is not a suppression (type:pattern)");
  EXPECT_EQ(suppressions.add("race", "my.supp"), "my.supp:1: 'race' is not a suppression (type:pattern)");
  EXPECT_EQ(suppressions.add("race:", "my.supp"), "my.supp:1: the pattern is empty");
}

TEST(Suppressions, GeneratedLineSuppressesItsFinding) {
  EXPECT_EQ(suppression_for(sample_race()), "race:^step()$");
  EXPECT_TRUE(suppressed_by(suppression_for(sample_race())));
  Finding no_stacks = sample_race();
  for (AccessReport& access : no_stacks.accesses) access.stack.clear();
  EXPECT_EQ(suppression_for(no_stacks), "race:^consume(float const*)$");
  EXPECT_TRUE(suppressed_by(suppression_for(no_stacks), no_stacks));
  for (AccessReport& access : no_stacks.accesses) access.kernel.clear();
  EXPECT_TRUE(suppressed_by(suppression_for(no_stacks), no_stacks)) << suppression_for(no_stacks);
}

TEST(Suppressions, GeneratedLineIsNeverMain) {
  Finding f = sample_race();
  for (AccessReport& access : f.accesses) {
    for (Frame& frame : access.stack) frame.function = "main";
  }
  EXPECT_EQ(suppression_for(f), "race:^consume(float const*)$");
  for (AccessReport& access : f.accesses) access.kernel.clear();
  ASSERT_FALSE(f.fingerprint.empty());
  EXPECT_EQ(suppression_for(f), "fingerprint:" + f.fingerprint);
  EXPECT_TRUE(suppressed_by(suppression_for(f), f));
}

TEST(Suppressions, AFingerprintIsThatOfOneFinding) {
  const Finding f = sample_race();
  EXPECT_TRUE(suppressed_by("fingerprint:" + f.fingerprint, f));
  EXPECT_FALSE(suppressed_by("fingerprint:" + f.fingerprint.substr(1), f)) << "no pattern";
  EXPECT_FALSE(suppressed_by("fingerprint:*", f));
}

TEST(Suppressions, APairNeedsBothSides) {
  EXPECT_TRUE(suppressed_by("race:^step()$ <-> ^load()$"));
  EXPECT_TRUE(suppressed_by("race:^load()$ <-> ^step()$")) << "whichever comes first";
  EXPECT_FALSE(suppressed_by("race:^step()$ <-> ^step()$"));
  EXPECT_FALSE(suppressed_by("race:^step()$ <-> elsewhere"));
  EXPECT_TRUE(suppressed_by("all:^consume <-> cuMemcpyHtoDAsync"));
  EXPECT_FALSE(suppressed_by("premature-free:^step()$ <-> ^load()$"));
  EXPECT_FALSE(suppressed_by("event-misuse:step <-> step", sample_misuse())) << "it has no two sides";
  Suppressions suppressions;
  EXPECT_EQ(suppressions.add("race:step <->", "s"), "s:1: the pattern is empty");
}

TEST(Suppressions, AMisuseIsFoundByTheCallsOnItsEvent) {
  const Finding f = sample_misuse();
  for (const char* line : {"event-misuse:^step()$", "event-misuse:train.cu", "event-misuse:^cuStreamWaitEvent$",
                           "all:step", "function:^step", "stream:^stream 2$", "lib:/opt/app"}) {
    EXPECT_TRUE(suppressed_by(line, f)) << line;
  }
  for (const char* line : {"race:step", "event-misuse:main", "stream:stream 1", "kernel:*"}) {
    EXPECT_FALSE(suppressed_by(line, f)) << line;
  }
  EXPECT_EQ(suppression_for(f), "event-misuse:^step()$");
  Finding no_stack = f;
  no_stack.related[0].stack.clear();
  EXPECT_TRUE(suppressed_by(suppression_for(no_stack), no_stack)) << suppression_for(no_stack);
}

TEST(Suppressions, AHintIsFoundByItsCalls) {
  const Finding f = sample_hint();
  for (const char* line : {"hint:^step()$", "hint:train.cu", "hint:^cuMemAlloc", "all:step", "function:^step"}) {
    EXPECT_TRUE(suppressed_by(line, f)) << line;
  }
  for (const char* line : {"race:step", "event-misuse:step", "hint:main"}) EXPECT_FALSE(suppressed_by(line, f)) << line;
  EXPECT_EQ(suppression_for(f), "hint:^step()$");
}

TEST(Suppressions, RelatedCallsOfARaceAreNotItsPlaces) {
  Finding f = sample_race();
  f.related[0].stack[0].function = "elsewhere()";
  EXPECT_FALSE(suppressed_by("race:elsewhere", f));
}

TEST(Suppressions, FunctionsOfLibcAreMatched) {
  Finding f = sample_race();
  f.kind = Kind::HostRace;
  f.accesses[0].api = "write";
  EXPECT_TRUE(suppressed_by("host-race:^write$", f));
  EXPECT_FALSE(suppressed_by("host-race:^read$", f));
}

}  // namespace
}  // namespace streamsan::report
