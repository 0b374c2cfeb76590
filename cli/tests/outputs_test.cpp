// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where outputs go: which word of a command line is a file to write, and which one to read.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/tests/command.h"
#include "cli/tests/sample_trace.h"

namespace streamsan::cli {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Outputs : public ::testing::Test {
 protected:
  Outputs() {
    for (const std::string name : {"race", "fixed"}) {
      EXPECT_TRUE(sample_trace(name).save(at(name + ".trace")));
      streamsan({"check", "--json=" + at(name + ".json"), at(name + ".trace")});
    }
  }
  [[nodiscard]] std::string at(const std::string& name) const { return directory_ / name; }
  static bool exists(const std::string& path) { return std::filesystem::exists(path); }

  TemporaryDirectory directory_;
};

TEST_F(Outputs, TheWordThatFollowsIsTheFile) {
  EXPECT_EQ(streamsan({"report", "--html", at("a.html"), at("race.json")}).code, 66);
  EXPECT_TRUE(contents(at("a.html")).starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(streamsan({"report", at("race.json"), "--sarif", at("a.sarif"), "--junit", at("a.xml")}).code, 66);
  EXPECT_TRUE(has(contents(at("a.sarif")), "\"2.1.0\""));
  EXPECT_TRUE(has(contents(at("a.xml")), "<testsuites"));
  EXPECT_EQ(streamsan({"diff", "--json", at("a.json"), "--fail-on", "none", at("fixed.json"), at("race.json")}).code,
            0);
  EXPECT_TRUE(exists(at("a.json")));
  EXPECT_EQ(streamsan({"check", "--html", at("b.html"), "--syncs", at("race.trace")}).code, 66);
  EXPECT_TRUE(contents(at("b.html")).starts_with("<!DOCTYPE html>"));
}

TEST_F(Outputs, OnceMore) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(streamsan({"check", "--json", at("b.json"), at("race.trace")}).code, 66);
    EXPECT_EQ(streamsan({"report", "--html", at("a.html"), "--sarif", at("a.sarif"), at("race.json")}).code, 66);
  }
}

TEST_F(Outputs, WithoutAFileOfItsOwnToStdout) {
  EXPECT_TRUE(has(streamsan({"report", "--sarif", at("race.json")}).out, "\"2.1.0\""));
  EXPECT_TRUE(has(streamsan({"report", at("race.json"), "--sarif"}).out, "\"2.1.0\""));
  EXPECT_TRUE(has(streamsan({"report", "--sarif", "--text", at("race.json")}).out, "\"2.1.0\""));
  EXPECT_TRUE(has(streamsan({"report", "--sarif", "-", at("race.json")}).out, "\"2.1.0\""));
  EXPECT_TRUE(has(streamsan({"check", "--sarif", at("race.trace")}).out, "\"2.1.0\""));
  EXPECT_TRUE(has(streamsan({"diff", "--json", at("fixed.json"), at("race.json")}).out, "\"tool\""));
}

TEST_F(Outputs, OfTwoTheLastOneGivesUpItsFile) {
  const Result result = streamsan({"report", "--sarif", at("a.sarif"), "--junit", at("race.json")});
  EXPECT_EQ(result.code, 66) << result.error;
  EXPECT_TRUE(exists(at("a.sarif")));
  EXPECT_TRUE(has(result.out, "<testsuites"));
}

TEST_F(Outputs, ResultsAreNotWrittenOverByMistake) {
  const std::string before = contents(at("fixed.json"));
  const Result result = streamsan({"report", "--sarif", at("fixed.json"), at("race.json")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.error, "streamsan: " + at("fixed.json") + " holds results: --sarif=" + at("fixed.json") +
                              " writes over them, --sarif=- writes to stdout\n");
  EXPECT_EQ(contents(at("fixed.json")), before);
  EXPECT_EQ(streamsan({"check", "--html", at("fixed.trace"), at("race.trace")}).code, 2);
  EXPECT_EQ(streamsan({"report", "--sarif=" + at("fixed.json"), at("race.json")}).code, 66);
  EXPECT_NE(contents(at("fixed.json")), before);
}

TEST_F(Outputs, FlagsOfRunNeverTakeTheProgram) {
  const Result result = streamsan(
      {"run", "--preload_path=" STREAMSAN_FAKE_RECORDER, "--syncs", "/bin/echo", "--html", "x"}, {"FAKE_TRACE=fixed"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.out, "--html x\n");
}

}  // namespace
}  // namespace streamsan::cli
