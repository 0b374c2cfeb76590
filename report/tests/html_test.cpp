// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page as a file; what it does in a browser is tested in testsuite/html.
#include "report/html/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

std::string data_block(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

RunView run_of_two() {
  RunView run;
  run.pid = 4711;
  run.program = "/opt/app/train";
  run.lanes = {{.name = "host thread 1", .stream = {}}, {"stream 1", StreamKind::Blocking, 0x10}};
  run.sites = {{"kernel k()", "cuLaunchKernel", {}}, {"cudaDeviceSynchronize", "cuCtxSynchronize", {}}};
  run.ops = {{.number = 1, .lane = 1, .site = 0, .kind = OpClass::Kernel, .start_ns = 5000, .end_ns = 7000},
             {.lane = 0, .site = 1, .kind = OpClass::Sync}};
  run.edges = {{0, 1, EdgeKind::Sync}};
  run.operations = 2;
  return run;
}

TEST(Html, DataIsJsonWithColumns) {
  const RunView run = run_of_two();
  const Finding finding = sample_race();
  const std::string page =
      html(std::span(&finding, 1), {.errors = 1}, std::span(&run, 1), {.version = "1.2", .strip_path_prefix = "/src/"});
  const auto data = nlohmann::json::parse(data_block(page));
  EXPECT_EQ(data["version"], "1.2");
  EXPECT_EQ(data["findings"].size(), 1u);
  EXPECT_EQ(data["findings"][0]["place"], "train.cu:88:5 in step()");
  EXPECT_EQ(data["findings"][0]["accesses"][0]["thread"], "host thread 1 \"loader\" (main)");
  EXPECT_EQ(data["findings"][0]["accesses"][1]["thread"], "host thread 1");
  const auto& ops = data["runs"][0]["ops"];
  EXPECT_EQ(ops["number"], nlohmann::json({1, 0}));
  EXPECT_EQ(ops["start"], nlohmann::json({0, -1})) << "from the first time on; -1: not known";
  EXPECT_EQ(ops["end"], nlohmann::json({2000, -1}));
  EXPECT_EQ(data["runs"][0]["edges"], nlohmann::json({0, 1, 1}));
  EXPECT_EQ(data["classes"][ops["kind"][1].get<int>()], "sync");
}

TEST(Html, NothingOfTheProgramIsMarkup) {
  Finding finding = sample_race();
  finding.message = "</script><script>alert(1)</script><!--<img src=x>";
  finding.accesses[0].what = "\xff\xfe not UTF-8 <b>";
  RunView run = run_of_two();
  run.program = run.lanes[0].name = run.sites[0].what = "</title><svg onload=alert(1)>";
  const std::string page = html(std::span(&finding, 1), {}, std::span(&run, 1), {});
  const std::string data = data_block(page);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(data)["findings"][0]["message"], finding.message) << "and it comes back whole";
  std::string rest = page;
  rest.erase(rest.find(data), data.size());
  EXPECT_EQ(rest.find("onload=alert"), std::string::npos);
}

TEST(Html, AsksForNothing) {
  const std::string page = html({}, {}, {}, {});
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("src=\""), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(Html, TheWorstComesFirstAndSuppressedOnesLast) {
  std::vector<Finding> findings(3, sample_race());
  findings[0].suppressed = true;
  findings[1].severity = Severity::Note;
  findings[1].fingerprint = "note";
  findings[2].fingerprint = "error";
  const auto data = nlohmann::json::parse(data_block(html(findings, {}, {}, {})));
  EXPECT_EQ(data["findings"][0]["fingerprint"], "error");
  EXPECT_EQ(data["findings"][1]["fingerprint"], "note");
  EXPECT_EQ(data["findings"][2]["suppressed"], true);
}

TEST(Html, FramesSayWhetherTheyLeadToTheForwardOperation) {
  Finding finding = sample_race();
  Frame frame{.function = "step", .file = "/src/train.py", .line = 12, .language = Language::Python};
  finding.accesses[0].stack = {frame};
  frame.forward = true;  // the same place, and another frame
  finding.accesses[1].stack = {frame};
  const auto data = nlohmann::json::parse(data_block(html(std::vector{finding}, {}, {}, {})));
  const auto forward = [&data](int access) {
    const std::size_t stack = data["findings"][0]["accesses"][access]["stack"];
    return data["frames"][data["stacks"][stack][0].get<std::size_t>()].back().get<int>();
  };
  EXPECT_EQ(forward(0), 0);
  EXPECT_EQ(forward(1), 1);
}

TEST(Html, StacksStandOnce) {
  std::vector<Finding> findings(200, sample_race());
  const auto data = nlohmann::json::parse(data_block(html(findings, {}, {}, {})));
  EXPECT_LE(data["stacks"].size(), 8u);
}

}  // namespace
}  // namespace streamsan::report
