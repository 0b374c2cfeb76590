// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where outputs go: which word of a command line is a file to write, and which one to read.
#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST_F(Outputs, AFileForEachProcess) {
  trace::TraceBuilder other = sample_trace("fixed");
  other.set_pid(4712);
  ASSERT_TRUE(other.save(at("other.trace")));
  const Result result = streamsan({"check", "--json=" + at("out.%p.json"), "--sarif=" + at("all.%%.sarif"),
                                   "--junit=" + at("%b.xml"), at("race.trace"), at("other.trace")});
  EXPECT_EQ(result.code, 66) << result.error;
  EXPECT_TRUE(has(contents(at("out.4711.json")), "\"errors\": 1"));
  EXPECT_TRUE(has(contents(at("out.4712.json")), "\"errors\": 0"));
  EXPECT_TRUE(has(contents(at("out.4712.json")), "\"processes\": 1"));
  EXPECT_FALSE(exists(at("out.%p.json")));
  EXPECT_TRUE(exists(at("all.%.sarif")));
  EXPECT_FALSE(exists(at("%b.xml")));
}

TEST_F(Outputs, EqualFindingsOfProcessesAreToldOnce) {
  trace::TraceBuilder other = sample_trace("race");
  other.set_pid(4712);
  ASSERT_TRUE(other.save(at("other.trace")));
  const std::string text = streamsan({"check", at("race.trace"), at("other.trace")}).error;
  EXPECT_TRUE(has(text,
                  "==4712== ERROR: streamsan: read-after-write race: the same places as in the report of process "
                  "4711\n  [properties] kind=race"))
      << text;
  EXPECT_EQ(text.find("Fix:"), text.rfind("Fix:"));
  EXPECT_TRUE(has(text, "SUMMARY: streamsan: 2 errors")) << text;
}

TEST_F(Outputs, PlaceholdersOfProcessesNeedOne) {
  EXPECT_EQ(
      streamsan({"report", "--sarif=" + at("%p.sarif"), at("race.json")}).error,
      "streamsan: sarif=" + at("%p.sarif") + ": %p and %b stand for a process, and these findings may be of several\n");
  EXPECT_EQ(streamsan({"report", "--sarif=" + at("%q{FORMAT}.sarif"), at("race.json")}, {"FORMAT=x"}).code, 66);
  EXPECT_TRUE(exists(at("x.sarif")));
  EXPECT_EQ(streamsan({"diff", "--json=" + at("%b.json"), at("fixed.json"), at("race.json")}).code, 2);
}

TEST_F(Outputs, TwoToOneFileAreRefused) {
  EXPECT_EQ(streamsan({"check", "--json=" + at("x"), "--sarif=" + at("./x"), at("race.trace")}).error,
            "streamsan: json and sarif cannot both go to " + at("./x") + "\n");
  EXPECT_EQ(streamsan({"check", "--json=" + at("x"), "--log_path=" + at("x"), at("race.trace")}).error,
            "streamsan: log_path and json cannot both go to " + at("x") + "\n");
  EXPECT_EQ(streamsan({"check", "--json=-", "--log_path=stdout", at("race.trace")}).error,
            "streamsan: log_path and json cannot both go to stdout\n");
  EXPECT_EQ(streamsan({"check", "--json=-", "--sarif=/dev/stdout", at("race.trace")}).code, 2);
  EXPECT_FALSE(exists(at("x")));
  for (const std::string same : {"/dev/fd/1", "/proc/self/fd/1"}) {
    EXPECT_EQ(streamsan({"check", "--json=-", "--sarif=" + same, at("race.trace")}).error,
              "streamsan: json and sarif cannot both go to " + same + "\n");
  }
  std::filesystem::create_symlink("x", at("link"));
  EXPECT_EQ(streamsan({"check", "--json=" + at("x"), "--sarif=" + at("link"), at("race.trace")}).error,
            "streamsan: json and sarif cannot both go to " + at("link") + "\n");
  EXPECT_FALSE(exists(at("x")));
  EXPECT_EQ(streamsan({"check", "--json=" + at("y"), "--sarif=" + at("link"), at("race.trace")}).code, 66);
  EXPECT_TRUE(has(contents(at("x")), "\"2.1.0\""));
  EXPECT_EQ(streamsan({"check", "--json=/dev/null", "--sarif=/dev/null", at("race.trace")}).code, 66);
}

TEST_F(Outputs, ADashIsStdout) {
  EXPECT_TRUE(has(streamsan({"check", "--log_path=-", at("race.trace")}).out, "ERROR: streamsan"));
  EXPECT_EQ(streamsan({"footprints", "--json=-", at("race.trace")}).out.substr(0, 1), "{");
  EXPECT_FALSE(exists("-"));
}

TEST_F(Outputs, TextThatCannotBeWrittenGoesToStderr) {
  const Result result = streamsan({"check", "--log_path=/dev/full", at("race.trace")});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(has(result.error, "ERROR: streamsan")) << result.error;
  EXPECT_TRUE(has(result.error, "cannot write /dev/full: No space left on device"));
}

TEST_F(Outputs, NoNameBeginsALine) {
  const std::string name = at("x\n::error::y.trace");
  EXPECT_EQ(streamsan({"check", name}).error.find("\n::error"), std::string::npos);
  EXPECT_EQ(streamsan({"x\n::error::y"}).error.find("\n::error"), std::string::npos);
  EXPECT_EQ(streamsan({"report", name}).error.find("\n::error"), std::string::npos);
  EXPECT_EQ(streamsan({"diff", name, at("race.json")}).error.find("\n::error"), std::string::npos);
  EXPECT_EQ(streamsan({"doctor", "--preload_path=" + name}).out.find("\n::error"), std::string::npos);
  EXPECT_EQ(streamsan({"run", "--preload_path=" STREAMSAN_FAKE_RECORDER, name}).error.find("\n::error"),
            std::string::npos);
  const Result footprints = streamsan({"footprints", "--json=" + at("no") + "/../" + name + "/x", name});
  EXPECT_EQ(footprints.error.find("\n::error"), std::string::npos) << footprints.error;
  ASSERT_TRUE(sample_trace("race").save(name));
  EXPECT_EQ(streamsan({"footprints", name}).out.find("\n::error"), std::string::npos);
  const std::string file = at("x\n::error::y.supp");
  std::ofstream(file) << "kernel:consume\nrace:never\x1b[31m_there\n";
  const Result suppressed = streamsan({"check", "--suppressions=" + file, "--print_suppressions", name});
  EXPECT_TRUE(has(suppressed.error, "streamsan: suppressed 1: kernel:consume (")) << suppressed.error;
  EXPECT_TRUE(has(suppressed.error, "unused suppression race:never [31m_there (")) << suppressed.error;
  EXPECT_EQ(suppressed.error.find("\n::error"), std::string::npos) << suppressed.error;
}

TEST_F(Outputs, PipesAndDevicesAreNotRead) {
  const std::string pipe = at("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), std::string("/dev/fd/../root/dev/zero")}) {
    const Result trace = streamsan({"check", path});
    EXPECT_EQ(trace.code, 2);
    EXPECT_TRUE(has(trace.error, "not a regular file")) << trace.error;
    EXPECT_EQ(streamsan({"check", "--suppressions=" + path, at("race.trace")}).error,
              "streamsan: cannot read the suppressions file " + path + ": not a regular file\n");
    const std::string fault = "streamsan: cannot read " + path + ": not a regular file\n";
    EXPECT_EQ(streamsan({"report", path}).error, fault);
    EXPECT_EQ(streamsan({"diff", path, at("race.json")}).error, fault);
    EXPECT_EQ(streamsan({"diff", at("race.json"), path}).error, fault);
  }
  EXPECT_EQ(streamsan({"check", "--suppressions=" + at("none"), at("race.trace")}).error,
            "streamsan: cannot read the suppressions file " + at("none") + ": No such file or directory\n");
  EXPECT_EQ(streamsan({"check", "--suppressions=/dev/null", at("race.trace")}).code, 66);
}

TEST_F(Outputs, FlagsOfRunNeverTakeTheProgram) {
  const Result result =
      streamsan({"run", "--preload_path=" STREAMSAN_FAKE_RECORDER, "--syncs", STREAMSAN_COMMANDS "echo", "--html", "x"},
                {"FAKE_TRACE=fixed"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.out, "--html x\n");
}

}  // namespace
}  // namespace streamsan::cli
