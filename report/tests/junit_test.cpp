// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JUnit XML, literally where it is short. That it is well-formed whatever names hold is tested by a parser in
// testsuite/runtime/formats.
#include "report/junit.h"

#include <gtest/gtest.h>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

TEST(Junit, ACleanRunIsATestThatPassed) {
  EXPECT_EQ(junit({{}, {.operations = 5, .processes = 1}}, kContext), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="streamsan" tests="1" failures="0" errors="0">
  <testsuite name="streamsan" tests="1" failures="0" errors="0" skipped="0">
    <testcase classname="streamsan" name="the run was judged">
      <system-out>SUMMARY: streamsan: no errors; 5 operations in 1 process</system-out>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(Junit, ErrorsFailAndTheRestIsSkipped) {
  Finding suppressed = sample_race();
  suppressed.suppressed = true;
  suppressed.fingerprint = "3";
  Finding note = sample_misuse();
  note.severity = Severity::Note;
  note.fingerprint = "4";
  const std::vector<Finding> findings{sample_race(), sample_misuse(), suppressed, note};
  FormatContext all = kContext;
  all.least = Severity::Note;
  const std::string out = junit({findings, {.errors = 1, .latent = 1, .suppressed = 1}}, all);
  EXPECT_TRUE(has(out, "<testsuite name=\"streamsan\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"2\">")) << out;
  EXPECT_TRUE(has(out,
                  "<testcase classname=\"streamsan.race\" name=\"read-after-write race in step()\">\n"
                  "      <failure message=\"kernel consume(float const*) on "))
      << out;
  EXPECT_TRUE(has(out, "type=\"read-after-write\">==4711== ERROR: streamsan: ")) << out;
  EXPECT_TRUE(has(out, "<skipped message=\"latent: stream 2 waits for event 1, which is never recorded.\"/>")) << out;
  EXPECT_TRUE(has(out, "name=\"read-after-write race in step() #2\">")) << "names are different: " << out;
  EXPECT_TRUE(has(out, "<skipped message=\"suppressed\"/>"));
}

TEST(Junit, TheSummaryNamesTheFirstOfTheWorst) {
  const std::vector<Finding> findings{sample_misuse(), sample_race()};
  const std::string out = junit({findings, {.errors = 1, .latent = 1}}, kContext);
  EXPECT_TRUE(has(out, "SUMMARY: streamsan: 1 error, 1 latent; first: read-after-write race")) << out;
}

TEST(Junit, ARunThatWasNotJudgedWholeIsAnError) {
  const std::string out = junit({{}, {.whole = false, .warnings = {"x.trace: cut <short>\n"}}}, kContext);
  EXPECT_TRUE(has(out, "errors=\"1\"")) << out;
  EXPECT_TRUE(has(out, "<error message=\"not judged as a whole; findings may be missing\" type=\"incomplete\""));
  EXPECT_TRUE(has(out, "<system-err>x.trace: cut &lt;short&gt; \n</system-err>")) << out;
}

TEST(Junit, NamesAreEscaped) {
  const std::vector<Finding> findings{sample_nasty()};
  const std::string out = junit({findings, {.errors = 1}}, kContext);
  for (char c : out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_FALSE(has(out, "<&"));
  EXPECT_FALSE(has(out, "]]>"));
  EXPECT_FALSE(has(out, "\xff"));
  EXPECT_TRUE(has(out, "&lt;&amp;&quot;'&gt; ]]&gt; 100%,"));
}

}  // namespace
}  // namespace streamsan::report
