// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What counts as new, gone and unchanged between two runs, of the same build and of builds in which lines have moved.
#include "report/diff.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/print_diff.h"
#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

const Summary kRun{.processes = 1};

/// A race in this function, at this line, of this build.
Finding race(const std::string& function, std::uint32_t line, const std::string& fingerprint) {
  Finding f = sample_race();
  f.accesses[0].stack[1].function = function;
  f.accesses[0].stack[1].line = line;
  f.fingerprint = fingerprint;
  return f;
}

/// The same in the next build: everything has moved.
Finding moved(Finding f) {
  f.fingerprint += "'";
  for (AccessReport& access : f.accesses) {
    for (Frame& frame : access.stack) {
      frame.line += 3;
      frame.offset += 64;
    }
  }
  return f;
}

std::string counts(const Diff& diff) {
  return std::to_string(diff.fresh.size()) + " new, " + std::to_string(diff.gone.size()) + " gone, " +
         std::to_string(diff.unchanged.size()) + " unchanged, " + std::to_string(diff.worse.size()) + " worse, " +
         std::to_string(diff.better.size()) + " better, " + std::to_string(diff.suppressed.size()) + " suppressed";
}

class Compare : public ::testing::Test {
 protected:
  std::string compared() {
    diff_ = compare(before_, kRun, after_, kRun);
    return counts(diff_);
  }
  std::vector<Finding> before_;
  std::vector<Finding> after_;
  Diff diff_;
};

TEST_F(Compare, Nothing) {
  EXPECT_EQ(compared(), "0 new, 0 gone, 0 unchanged, 0 worse, 0 better, 0 suppressed");
  EXPECT_FALSE(diff_.fails(Severity::Note));
  EXPECT_TRUE(diff_.doubts.empty());
}

TEST_F(Compare, TheSameBuild) {
  before_ = {race("a()", 1, "1"), race("b()", 2, "2")};
  after_ = {race("b()", 2, "2"), race("c()", 3, "3")};
  EXPECT_EQ(compared(), "1 new, 1 gone, 1 unchanged, 0 worse, 0 better, 0 suppressed");
  EXPECT_EQ(diff_.fresh[0].after->fingerprint, "3");
  EXPECT_EQ(diff_.gone[0].before->fingerprint, "1");
  EXPECT_TRUE(diff_.fails(Severity::Error));
}

TEST_F(Compare, LinesThatMovedMakeNothingNew) {
  before_ = {race("a()", 1, "1"), race("b()", 2, "2")};
  after_ = {moved(before_[1]), moved(before_[0])};
  EXPECT_EQ(compared(), "0 new, 0 gone, 2 unchanged, 0 worse, 0 better, 0 suppressed");
  EXPECT_FALSE(diff_.fails(Severity::Note));
}

TEST_F(Compare, AThirdOneLikeTwoOthersIsOneNew) {
  before_ = {race("a()", 10, "1"), race("a()", 20, "2")};
  after_ = {moved(race("a()", 30, "3")), moved(before_[0]), moved(before_[1])};
  EXPECT_EQ(compared(), "1 new, 0 gone, 2 unchanged, 0 worse, 0 better, 0 suppressed");
  EXPECT_EQ(diff_.fresh[0].after->accesses[0].stack[1].line, 33u) << "paired in the order of their lines";
}

TEST_F(Compare, ARaceThatCameTheOtherWayRoundIsTheSame) {
  before_ = {race("a()", 10, "1")};
  Finding other = race("a()", 10, "9");
  std::swap(other.accesses[0], other.accesses[1]);
  other.hazard = Hazard::WriteAfterRead;
  after_ = {other};
  EXPECT_EQ(compared(), "0 new, 0 gone, 1 unchanged, 0 worse, 0 better, 0 suppressed");
  // But where both orders were met before and only one now, the other is gone.
  before_.push_back(other);
  EXPECT_EQ(compared(), "0 new, 1 gone, 1 unchanged, 0 worse, 0 better, 0 suppressed");
}

TEST_F(Compare, Severities) {
  before_ = {race("a()", 1, "1"), race("b()", 2, "2")};
  after_ = before_;
  before_[0].severity = Severity::Latent;
  after_[1].severity = Severity::Possible;
  EXPECT_EQ(compared(), "0 new, 0 gone, 0 unchanged, 1 worse, 1 better, 0 suppressed");
  EXPECT_TRUE(diff_.fails(Severity::Error)) << "an error that was none before";
  after_[0].severity = Severity::Possible;
  before_[0].severity = Severity::Note;
  EXPECT_EQ(compared(), "0 new, 0 gone, 0 unchanged, 1 worse, 1 better, 0 suppressed");
  EXPECT_FALSE(diff_.fails(Severity::Latent));
  EXPECT_TRUE(diff_.fails(Severity::Possible));
}

TEST_F(Compare, WhichThreadWasFirstMakesNothingNew) {
  before_ = {race("a()", 1, "1"), race("b()", 2, "2"), race("c()", 3, "3"), race("d()", 4, "4")};
  after_ = before_;
  before_[0].severity = Severity::Possible;
  before_[0].passed_on = true;
  after_[1].severity = Severity::Possible;
  after_[1].passed_on = true;
  // Possible for another reason, and now an error; and an error of which the threads say nothing.
  before_[2].severity = Severity::Possible;
  after_[3].severity = Severity::Latent;
  before_[3].passed_on = true;
  EXPECT_EQ(compared(), "0 new, 0 gone, 2 unchanged, 1 worse, 1 better, 0 suppressed");
  EXPECT_EQ(diff_.by_order_of_threads, 2u);
  EXPECT_EQ(diff_.worse[0].after->fingerprint, "3");
  EXPECT_TRUE(diff_.fails(Severity::Error));
  before_.pop_back();
  after_.pop_back();
  before_.pop_back();
  after_.pop_back();
  EXPECT_EQ(compared(), "0 new, 0 gone, 2 unchanged, 0 worse, 0 better, 0 suppressed");
  EXPECT_FALSE(diff_.fails(Severity::Note));
  // What was not there at all is new, however grave.
  before_.clear();
  EXPECT_EQ(compared(), "2 new, 0 gone, 0 unchanged, 0 worse, 0 better, 0 suppressed");
}

TEST_F(Compare, ProcessesAreOne) {
  before_ = {race("a()", 1, "1"), race("a()", 1, "1")};
  before_[1].pid = 2;
  after_ = {race("a()", 1, "1")};
  after_[0].count = 9;
  EXPECT_EQ(compared(), "0 new, 0 gone, 1 unchanged, 0 worse, 0 better, 0 suppressed");
  EXPECT_EQ(diff_.unchanged[0].count_before, 2u);
  EXPECT_EQ(diff_.unchanged[0].count_after, 9u);
}

TEST_F(Compare, WhatIsSuppressedIsNotThere) {
  before_ = {race("a()", 1, "1"), race("b()", 2, "2"), race("c()", 3, "3")};
  after_ = before_;
  before_[0].suppressed = true;
  after_[1].suppressed = true;
  before_[2].suppressed = after_[2].suppressed = true;
  EXPECT_EQ(compared(), "1 new, 0 gone, 0 unchanged, 0 worse, 0 better, 1 suppressed");
  after_.resize(1);
  EXPECT_EQ(compared(), "1 new, 1 gone, 0 unchanged, 0 worse, 0 better, 0 suppressed");
}

TEST_F(Compare, Synchronisation) {
  const auto sync = [](const std::string& function, Verdict verdict) {
    Finding f = sample_sync();
    f.sync->verdict = verdict;
    f.hazard = Word<Hazard>::of(name(verdict));
    f.sync->stack[0].function = function;
    f.fingerprint = function;
    return f;
  };
  before_ = {sync("a()", Verdict::Needed),   sync("b()", Verdict::Unneeded),  sync("c()", Verdict::Narrower),
             sync("d()", Verdict::Unneeded), sync("gone()", Verdict::Needed), sync("gone2()", Verdict::Unneeded)};
  after_ = {moved(sync("a()", Verdict::Unneeded)), sync("b()", Verdict::Needed),     sync("c()", Verdict::Unneeded),
            sync("d()", Verdict::Unneeded),        sync("new()", Verdict::Unneeded), sync("new2()", Verdict::Needed)};
  EXPECT_EQ(compared(), "0 new, 0 gone, 0 unchanged, 0 worse, 0 better, 0 suppressed") << "they are no findings";
  ASSERT_TRUE(diff_.syncs);
  ASSERT_EQ(diff_.syncs->improvable.size(), 2u);
  EXPECT_EQ(diff_.syncs->improvable[0].after->sync->stack[0].function, "a()");
  EXPECT_EQ(diff_.syncs->improvable[1].after->sync->stack[0].function, "new()");
  EXPECT_EQ(diff_.syncs->settled.size(), 2u);
  EXPECT_EQ(diff_.syncs->changed.size(), 1u);
  EXPECT_EQ(diff_.syncs->unchanged, 1u);
  EXPECT_FALSE(diff_.fails(Severity::Note));

  const std::string text = diff_text(diff_, {"x", "y"}, Severity::Latent, {});
  EXPECT_NE(text.find("Synchronisation, needed before and unneeded now: cudaDeviceSynchronize /src/train.cu:99"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("could go or do less: 2 new, 2 settled, 2 as before (x -> y)\n"), std::string::npos) << text;

  after_ = {sync("b()", Verdict::Unneeded), sync("b()", Verdict::Needed)};
  before_ = {sync("b()", Verdict::Needed)};
  compared();
  EXPECT_TRUE(diff_.syncs->improvable.empty()) << "needed in one process is needed";

  after_ = {sync("b()", Verdict::Unneeded)};
  before_.clear();
  compared();
  EXPECT_FALSE(diff_.syncs) << "nobody asked before";
  ASSERT_EQ(diff_.doubts.size(), 1u);
}

TEST(Diff, Doubts) {
  EXPECT_EQ(compare({}, kRun, {}, {.processes = 0}).doubts.size(), 1u);
  EXPECT_EQ(compare({}, {.processes = 1, .whole = false}, {}, {.processes = 1, .whole = false}).doubts.size(), 2u);
  EXPECT_EQ(compare({}, {.processes = 1, .syncs = true}, {}, kRun).doubts.size(), 1u);
}

TEST(Diff, Text) {
  Finding gone = race("a()", 1, "1"), fresh = race("b()", 2, "2"), hidden = race("c()", 3, "3"),
          worse = race("d()", 4, "4"), before = worse;
  hidden.severity = Severity::Possible;
  before.severity = Severity::Latent;
  const std::vector<Finding> then{gone, before}, now{fresh, hidden, worse};
  const Diff diff = compare(then, kRun, now, kRun);
  const std::string out = diff_text(diff, {"a.json", "b.json"}, Severity::Latent, {});
  EXPECT_TRUE(out.starts_with("New:\n==4711== ERROR: streamsan: read-after-write race on device memory")) << out;
  EXPECT_NE(out.find("\nWorse, latent before:\n==4711== ERROR: streamsan: "), std::string::npos) << out;
  EXPECT_NE(out.find("\nGone, error: read-after-write race /src/train.cu:1:5 in a()\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("c()"), std::string::npos) << "not asked for: " << out;
  EXPECT_TRUE(out.ends_with(
      "SUMMARY: streamsan: new: 1 error, 1 possible; gone: 1 error; unchanged: 0; worse: 1 (a.json -> b.json)\n"))
      << out;
}

/// Of one missing edge, whose first finding is the most severe.
std::vector<Finding> three_of_one_edge() {
  std::vector<Finding> out{race("a()", 1, "1"), race("b()", 2, "2"), race("c()", 3, "3")};
  for (Finding& each : out) each.group = "1";
  return out;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

TEST(Diff, NewFindingsOfOneEdgeAreToldTogether) {
  const std::vector<Finding> now = three_of_one_edge();
  const Diff diff = compare({}, kRun, now, kRun);
  const std::string out = diff_text(diff, {"x", "y"}, Severity::Latent, {});
  EXPECT_EQ(occurrences(out, "New:\n"), 1u) << out;
  EXPECT_EQ(occurrences(out, "  Fix: "), 1u) << out;
  EXPECT_EQ(occurrences(out, "  The Fix above repairs the next 2 findings, too.\n"), 1u) << out;
  EXPECT_EQ(occurrences(out, "ERROR: streamsan: "), 3u) << out;
  EXPECT_NE(out.find("SUMMARY: streamsan: new: 3 errors; "), std::string::npos) << "each counts: " << out;
  const auto json = nlohmann::json::parse(diff_json(diff, {"x", "y"}, Severity::Error));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(json.at("new").at(i).at("group"), "1");
}

TEST(Diff, OfAnEdgeThatWasMissingBeforeOnlyTheNewFindingIsTold) {
  const std::vector<Finding> now = three_of_one_edge();
  const std::vector<Finding> then(now.begin(), now.begin() + 2);
  const std::string out = diff_text(compare(then, kRun, now, kRun), {"x", "y"}, Severity::Latent, {});
  EXPECT_EQ(occurrences(out, "ERROR: streamsan: "), 1u) << out;
  EXPECT_EQ(occurrences(out, "  Fix: "), 1u) << "the most severe of its group is not there to tell it: " << out;
  EXPECT_EQ(occurrences(out, "The Fix above"), 0u) << out;
}

TEST(Diff, Json) {
  using Json = nlohmann::json;
  Finding before = race("d()", 4, "4"), after = moved(before);
  before.severity = Severity::Latent;
  const std::vector<Finding> then{race("a()", 1, "1"), before, race("e()", 5, "5")},
      now{race("b()", 2, "2"), after, moved(race("e()", 5, "5"))};
  const Diff diff = compare(then, kRun, now, kRun);
  const Json out = Json::parse(diff_json(diff, {"a\xff", "b"}, Severity::Error));
  EXPECT_EQ(out.at("failed"), true);
  EXPECT_EQ(out.at("fail_on"), "error");
  EXPECT_EQ(out.at("counts"),
            (Json{{"new", 1}, {"worse", 1}, {"better", 0}, {"gone", 1}, {"suppressed", 0}, {"unchanged", 1}}));
  EXPECT_EQ(out.at("new")[0].at("fingerprint"), "2");
  EXPECT_EQ(out.at("worse")[0].at("before"), "latent");
  EXPECT_EQ(out.at("worse")[0].at("finding").at("fingerprint"), "4'");
  EXPECT_EQ(out.at("gone")[0].at("fingerprint"), "1");
  EXPECT_EQ(out.at("unchanged")[0].at("fingerprint_before"), "5");
  EXPECT_TRUE(out.at("syncs").is_null());
  EXPECT_EQ(Json::parse(diff_json(diff, {"a", "b"}, std::nullopt)).at("failed"), false);
}

}  // namespace
}  // namespace streamsan::report
