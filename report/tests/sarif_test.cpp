// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is in a SARIF log, and what GitHub demands of it. The structure as a whole is checked by
// testsuite/runtime/formats/inputs/check_sarif.py.
#include "report/sarif.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "report/fingerprint.h"
#include "report/rules.h"
#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::json;

const FormatContext kSarifContext{.root = SourceRoot("/src"), .least = Severity::Latent, .exit_code = 66};

Json run_of(const std::vector<Finding>& findings, const Summary& summary = {},
            const FormatContext& context = kSarifContext) {
  const Json log = Json::parse(sarif({findings, summary}, context));
  EXPECT_EQ(log.at("version"), "2.1.0");
  EXPECT_EQ(log.at("runs").size(), 1u);
  return log["runs"][0];
}

Json result_of(const Finding& finding) {
  const Json run = run_of({finding});
  EXPECT_EQ(run.at("results").size(), 1u);
  const Json& result = run["results"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"].at(result.at("ruleIndex").get<std::size_t>()).at("id"), result.at("ruleId"));
  return result;
}

std::string place(const Json& location) {
  const Json& physical = location.at("physicalLocation");
  return physical.at("artifactLocation").at("uri").get<std::string>() + ":" +
         std::to_string(physical.at("region").at("startLine").get<int>());
}

TEST(Sarif, ARace) {
  const Json result = result_of(sample_race());
  EXPECT_EQ(result.at("ruleId"), "streamsan-read-after-write-race");
  EXPECT_EQ(result.at("level"), "error");
  const std::string text = result.at("message").at("text");
  EXPECT_TRUE(text.starts_with(sample_race().message + "\n")) << text;
  EXPECT_TRUE(text.ends_with("\nFix: " + sample_race().fix)) << text;
  ASSERT_EQ(result.at("locations").size(), 1u);
  EXPECT_EQ(place(result["locations"][0]), "train.cu:88");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"].at("startColumn"), 5);
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"].at("uriBaseId"), "SRCROOT");
  EXPECT_EQ(result["locations"][0].at("logicalLocations")[0].at("fullyQualifiedName"), "step()");

  // The earlier access has no source line and cannot be shown there; the stacks have it.
  ASSERT_EQ(result.at("relatedLocations").size(), 2u);
  EXPECT_EQ(place(result["relatedLocations"][0]), "train.cu:60");
  EXPECT_EQ(result["relatedLocations"][0].at("message").at("text"), "cudaEventRecord");
  EXPECT_EQ(place(result["relatedLocations"][1]), "train.cu:40");
  ASSERT_EQ(result.at("stacks").size(), 2u);
  EXPECT_EQ(result["stacks"][1].at("message").at("text"), "Write by cudaMemcpyAsync (host to device)");
  EXPECT_EQ(result["stacks"][0].at("frames").size(), 4u);

  EXPECT_EQ(result.at("partialFingerprints"),
            (Json{{"streamsan/v1", lasting_fingerprint(sample_race())}, {"streamsanBuild/v1", "00112233445566ff"}}));
  EXPECT_FALSE(result.contains("suppressions"));
  EXPECT_EQ(result.at("properties").at("cause"), "event-recorded-too-early");
}

TEST(Sarif, TheForwardOperationHasAStackOfItsOwn) {
  Finding f = sample_race();
  f.accesses[1].stack.push_back(
      {.function = "loss", .file = "/src/train.py", .line = 12, .language = Language::Python, .forward = true});
  const Json result = result_of(f);
  EXPECT_EQ(place(result.at("relatedLocations")[0]), "train.py:12") << "no other of its frames has a line";
  ASSERT_EQ(result.at("stacks").size(), 3u);
  EXPECT_EQ(result["stacks"][1].at("frames").size(), 1u);
  EXPECT_EQ(result["stacks"][2].at("message").at("text"),
            "Where the forward operation was called: Write by cudaMemcpyAsync (host to device)");
  EXPECT_EQ(place(result["stacks"][2].at("frames")[0].at("location")), "train.py:12");
}

TEST(Sarif, TwoStacksAreTwoThreadFlows) {
  Finding f = sample_race();
  f.accesses[1].stack[0].file = "/src/load.cu";
  f.accesses[1].stack[0].line = 61;
  const Json result = result_of(f);
  EXPECT_EQ(place(result.at("relatedLocations")[0]), "load.cu:61");
  ASSERT_EQ(result.at("codeFlows").size(), 1u);
  const Json& threads = result["codeFlows"][0].at("threadFlows");
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].at("id"), "1: stream 1");
  EXPECT_EQ(threads[1].at("id"), "2: stream 2");
  EXPECT_EQ(place(threads[0].at("locations")[0].at("location")), "load.cu:61");
  ASSERT_EQ(threads[1].at("locations").size(), 2u) << "the outermost call first";
  EXPECT_EQ(place(threads[1]["locations"][0].at("location")), "train.cu:120");
  EXPECT_EQ(place(threads[1]["locations"][1].at("location")), "train.cu:88");
  EXPECT_EQ(threads[1]["locations"][1].at("executionOrder"), 3);
  EXPECT_EQ(threads[1]["locations"][1].at("nestingLevel"), 1);
}

TEST(Sarif, Levels) {
  Finding f = sample_race();
  f.severity = Severity::Latent;
  f.rule = "R-ALC-02";
  EXPECT_EQ(result_of(f).at("level"), "warning");
  EXPECT_EQ(result_of(f).at("properties").at("rule"), "R-ALC-02");
  f.severity = Severity::Possible;
  EXPECT_EQ(run_of({f}).at("results").size(), 0u) << "not shown unless asked for";
  FormatContext all = kSarifContext;
  all.least = Severity::Note;
  EXPECT_EQ(run_of({f}, {}, all).at("results")[0].at("level"), "note");
}

TEST(Sarif, SuppressedFindingsAreMarked) {
  Finding f = sample_race();
  f.suppressed = true;
  EXPECT_EQ(result_of(f).at("suppressions")[0].at("kind"), "external");
}

TEST(Sarif, AFindingOfSeveralProcessesIsOneResult) {
  Finding other = sample_race();
  other.pid = 4712;
  other.count = 3;
  const Json run = run_of({sample_race(), other});
  ASSERT_EQ(run.at("results").size(), 1u);
  EXPECT_EQ(run["results"][0].at("occurrenceCount"), 4);
  EXPECT_EQ(run["results"][0].at("properties").at("pids"), (Json{4711, 4712}));
}

TEST(Sarif, APlaceThatRacesWithItselfHasOneStack) {
  Finding f = sample_race();
  f.accesses[1] = f.accesses[0];
  EXPECT_EQ(result_of(f).at("stacks").size(), 1u);
}

TEST(Sarif, WithoutSourceLinesItStandsInItsModule) {
  Finding f = sample_race();
  for (AccessReport& access : f.accesses) {
    for (Frame& frame : access.stack) frame.file.clear();
  }
  Json result = result_of(f);
  EXPECT_EQ(place(result.at("locations")[0]), "file:///opt/app/train:1");
  EXPECT_FALSE(result.contains("codeFlows"));
  f.accesses[0].stack.clear();
  f.accesses[1].stack.clear();
  f.buffer.reset();
  f.related.clear();
  result = result_of(f);
  EXPECT_EQ(result.at("locations").size(), 1u) << "GitHub refuses a result without";
  f = sample_race();
  f.accesses[0].stack[1].line = 0;
  EXPECT_EQ(place(result_of(f).at("locations")[0]), "train.cu:1");
}

TEST(Sarif, AnEarlierAccessWithALineStandsInForALaterOneWithout) {
  Finding f = sample_race();
  for (Frame& frame : f.accesses[0].stack) frame.file.clear();
  f.accesses[1].stack[0].file = "/src/load.cu";
  f.accesses[1].stack[0].line = 61;
  EXPECT_EQ(place(result_of(f).at("locations")[0]), "load.cu:61");
}

TEST(Sarif, TheRunItself) {
  const Json run = run_of({}, {.whole = false, .warnings = {"x.trace: cut short"}});
  EXPECT_EQ(run.at("results"), Json::array());
  EXPECT_EQ(run.at("invocations")[0].at("executionSuccessful"), false);
  EXPECT_EQ(run["invocations"][0].at("exitCode"), 66);
  EXPECT_EQ(run["invocations"][0].at("toolExecutionNotifications")[0].at("message").at("text"), "x.trace: cut short");
  EXPECT_EQ(run.at("originalUriBaseIds").at("SRCROOT").at("uri"), "file:///src/");
  EXPECT_EQ(run_of({}).at("invocations")[0].at("executionSuccessful"), true);
}

TEST(Sarif, FindingsOfOneMissingEdgeNameTheirGroup) {
  std::vector<Finding> findings(3, sample_race());
  findings[1].fingerprint = "0000000000000002";
  findings[2].fingerprint = "0000000000000003";
  findings[0].group = findings[1].group = findings[0].fingerprint;
  const Json run = run_of(findings);
  ASSERT_EQ(run.at("results").size(), 3u) << "each is one result, with its own fingerprint";
  const Json& first = run["results"][0];
  EXPECT_EQ(first.at("partialFingerprints").at("streamsanBuild/v1"), findings[0].fingerprint);
  EXPECT_EQ(first.at("properties").at("group"), findings[0].fingerprint);
  EXPECT_EQ(run["results"][1].at("properties").at("group"), findings[0].fingerprint);
  EXPECT_FALSE(run["results"][2].at("properties").contains("group")) << "it stands alone";
}

TEST(Sarif, AMisuseAndASynchronisation) {
  EXPECT_EQ(result_of(sample_misuse()).at("ruleId"), "streamsan-event-never-recorded");
  EXPECT_EQ(place(result_of(sample_misuse()).at("locations")[0]), "train.cu:70");
  const Json sync = result_of(sample_sync());
  EXPECT_EQ(sync.at("ruleId"), "streamsan-unneeded-sync");
  EXPECT_EQ(sync.at("level"), "note");
  EXPECT_EQ(place(sync.at("locations")[0]), "train.cu:99");
  EXPECT_EQ(sync.at("properties").at("verdict"), "narrower");
  EXPECT_EQ(sync.at("properties").at("blockedMs"), 1.5);
  Finding needed = sample_sync();
  needed.sync->verdict = Verdict::Needed;
  EXPECT_EQ(run_of({needed}).at("results").size(), 0u);
}

TEST(Sarif, AHintHasARuleThoughItIsNotInTheTable) {
  Finding hint = sample_race(), other = sample_race();
  hint.kind = other.kind = Kind::Hint;
  hint.severity = other.severity = Severity::Note;
  hint.hazard = Word<Hazard>::of("one-of-tomorrow");
  other.hazard = Word<Hazard>::of("another");
  other.fingerprint = "5";
  const Json run = run_of({hint, other, hint});
  ASSERT_EQ(run.at("results").size(), 2u);
  EXPECT_EQ(run["results"][0].at("ruleId"), "streamsan-one-of-tomorrow");
  EXPECT_EQ(run["results"][1].at("ruleId"), "streamsan-another");
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), rules().size() + 2);
}

TEST(Sarif, TheHintsOfToday) {
  const Json result = result_of(sample_hint());
  EXPECT_EQ(result.at("ruleId"), "streamsan-alloc-in-loop");
  EXPECT_EQ(result.at("level"), "note");
  EXPECT_EQ(place(result.at("locations")[0]), "train.cu:70");
}

TEST(Sarif, PathsAndNamesOfAllKinds) {
  const Json result = result_of(sample_nasty());
  EXPECT_EQ(place(result.at("locations")[0]), "caf%C3%A9%20dir/%FFa%25b%3Ac%2Cd%0A.cu:88");
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].get<std::string>().find('\n'),
            std::string::npos);
}

TEST(Sarif, BracketsMakeNoLinks) {
  Finding f = sample_race();
  f.message = "a[1](2) b";
  f.explanation.clear();
  f.fix.clear();
  EXPECT_EQ(result_of(f).at("message").at("text"), "a\\[1\\](2) b");
}

TEST(Rules, EachHasANameOfItsOwnAndHelp) {
  std::set<std::string_view> ids;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_TRUE(rule.id.starts_with("streamsan-"));
    EXPECT_FALSE(rule.help.empty() || rule.summary.empty() || rule.page.empty()) << rule.id;
  }
}

}  // namespace
}  // namespace streamsan::report
