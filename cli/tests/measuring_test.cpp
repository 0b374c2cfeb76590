// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `streamsan run` says about footprints, with the fake recorder's numbers.
#include "cli/measuring.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/tests/command.h"

namespace streamsan::cli {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> kTrue{STREAMSAN_COMMANDS "true"};

TEST(Measuring, TheSummaryNamesTheModeAndTheCost) {
  using std::chrono::milliseconds;
  EXPECT_EQ(Measuring{}.text(), "");
  Measuring inferring{.inferring = 1};
  EXPECT_EQ(inferring.text(), "computed from their code, or inferred");
  Measuring measuring{.measuring = 1, .launches = 1, .footprints = 2, .time = milliseconds(1449)};
  EXPECT_EQ(measuring.text(), "measured: 1 launch in 1.4 s, 2 distinct footprints");
  measuring.earlier = 3;
  EXPECT_EQ(measuring.text(), "measured: 1 launch in 1.4 s, 3 known from earlier runs, 2 distinct footprints");
  measuring.earlier = 0;
  measuring += measuring;
  measuring.gave_up = 1;
  measuring += inferring;
  EXPECT_EQ(measuring.text(),
            "measured in 2 processes: 2 launches in 2.9 s, 4 distinct footprints; given up in 1 process; inferred in 1 "
            "process");
}

TEST(Measuring, AtVerbosityOneTheRunSaysWhich) {
  const std::string measured = "streamsan: footprints of kernels measured: 120 launches in 1.2 s, 60 distinct ";
  EXPECT_TRUE(has(run("fixed", {"-v", "1"}, kTrue, {"FAKE_MEASURED=120"}).error, measured));
  EXPECT_EQ(run("fixed", {}, kTrue, {"FAKE_MEASURED=120"}).error, "");
  EXPECT_TRUE(has(run("fixed", {"-v", "1"}, kTrue, {"FAKE_MEASURED=0"}).error,
                  "streamsan: footprints of kernels computed from their code, or inferred\n"));
  EXPECT_FALSE(has(run("fixed", {"-v", "1"}, kTrue).error, "footprints of kernels")) << "none was launched";
}

TEST(Measuring, ALongOneShowsThatItIsAlive) {
  const std::string line = "streamsan: learning footprints: 120 launches measured, 1.2 s\n";
  Result slow = run("fixed", {"-v", "1"}, {STREAMSAN_COMMANDS "sleep", "3"}, {"FAKE_MEASURED=120"});
  std::size_t at = slow.error.find(line);
  EXPECT_NE(at, std::string::npos) << slow.error;
  EXPECT_EQ(slow.error.find("learning footprints", at + line.size()), std::string::npos) << "there is no news";
  EXPECT_FALSE(has(run("fixed", {"-v", "1"}, kTrue, {"FAKE_MEASURED=120"}).error, "learning"));
  EXPECT_EQ(run("fixed", {}, {STREAMSAN_COMMANDS "sleep", "3"}, {"FAKE_MEASURED=120"}).error, "")
      << "stderr is no terminal";
}

TEST(Measuring, WhatMustBeMeasuredAndCannotBeIsSaidAndFails) {
  const std::string line =
      "streamsan: kernels cannot be measured: there is no /no/such.so; their bytes are computed from their code, or "
      "inferred\n";
  Result result = run("fixed", {"--footprints=measured", "--agent_path=/no/such.so"}, kTrue);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.error, line);
  EXPECT_EQ(run("fixed", {"--footprints=measured", "--agent_path=/no/such.so"}, {STREAMSAN_COMMANDS "false"}).code, 1);
  EXPECT_EQ(run("race", {"--footprints=measured", "--agent_path=/no/such.so"}, kTrue).code, 66);
  Result silent = run("fixed", {"--agent_path=/no/such.so"}, kTrue);
  EXPECT_EQ(silent.code, 0);
  EXPECT_EQ(silent.error, "");
  EXPECT_TRUE(has(run("fixed", {"--agent_path=/no/such.so", "-v", "1"}, kTrue).error, line));
  EXPECT_FALSE(
      has(run("fixed", {"--footprints=inferred", "--agent_path=/no/such.so", "-v", "1"}, kTrue).error, "measured"));
}

TEST(Measuring, AProcessThatDidNotMeasureFailsARunThatMust) {
  TemporaryDirectory directory;
  std::string agent = directory / "agent.so";
  std::ofstream(agent) << "x";
  const std::vector<std::string> options{"--footprints=measured", "--agent_path=" + agent};
  auto code = [&](const std::string& measured, const std::string& more = "FAKE=") {
    return run("fixed", options, kTrue, {"STREAMSAN_OPTIONS=agent_script=/any", "FAKE_MEASURED=" + measured, more})
        .code;
  };
  EXPECT_EQ(code("0"), 2);
  EXPECT_EQ(code("1"), 0);
  EXPECT_EQ(code("1", "FAKE_GAVE_UP=1"), 2);
}

TEST(Measuring, TheGuestGetsOnlyWhatItNeeds) {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "a b,c:d");
  std::string agent = directory / "a b,c:d/agent.so", library = directory / "sanitizer.so";
  for (const std::string& file : {agent, library}) std::ofstream(file) << "x";
  std::vector<std::string> options{"--agent_path=" + agent, "--sanitizer_library=" + library, "--footprint-seconds=3",
                                   "--footprint_cache=" + (directory / "cache")};

  std::string out = run("", options, {STREAMSAN_COMMANDS "sh", "-c", "echo $STREAMSAN_OPTIONS"}).out;
  EXPECT_TRUE(has(out, "/%p.trace:footprints=auto:footprint_policy=needed:agent_path='" + agent + "':")) << out;
  EXPECT_TRUE(has(out,
                  ":footprint_launches=64:footprint_seconds=3:footprint_allowance=500:footprint_share=5:footprint_"
                  "patience=1000:footprint_memory=1024:"))
      << out;
  const std::string both = "':sanitizer_library=" + library;
  EXPECT_TRUE(has(out, both + ":earlier_footprints=")) << out;
  EXPECT_TRUE(has(out, "/footprints.earlier\n")) << "beside the traces: " << out;
  options.back() = "--footprint_cache=off";
  out = run("", options, {STREAMSAN_COMMANDS "sh", "-c", "echo $STREAMSAN_OPTIONS"}).out;
  EXPECT_TRUE(has(out, both + "\n")) << out;

  options.emplace_back("--footprints=inferred");
  out = run("", options, {STREAMSAN_COMMANDS "sh", "-c", "echo $STREAMSAN_OPTIONS"}).out;
  EXPECT_TRUE(out.ends_with("/%p.trace:footprints=inferred\n")) << out;
}

TEST(Measuring, OptionsThatMakeNoSenseEndTheRunBeforeItStarts) {
  for (auto [option, fault] :
       {std::pair{"--footprints=exact", "footprints=exact: one of auto, measured, inferred is expected"},
        std::pair{"--footprint-policy=all", "footprint_policy=all: one of needed, first, asked is expected"},
        std::pair{"--footprint_memory=1GiB", "footprint_memory=1GiB: a number is expected"},
        std::pair{"--footprint_patience=9999999", "footprint_patience=9999999: a number up to 3600000 is expected"}}) {
    Result result = run("race", {option}, {STREAMSAN_COMMANDS "echo", "started"});
    EXPECT_EQ(result.code, 2) << option;
    EXPECT_EQ(result.out, "") << option;
    EXPECT_EQ(result.error, std::string("streamsan: ") + fault + "\n");
  }
  Result unknown = streamsan({"run", "--agent_script=x", "--", STREAMSAN_COMMANDS "true"});
  EXPECT_EQ(unknown.code, 2) << "it is the test suite's";
}

}  // namespace
}  // namespace streamsan::cli
