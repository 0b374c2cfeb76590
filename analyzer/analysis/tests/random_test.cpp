// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine against the reference model of the order (ordering/tests/reference_model.h), on random programs.
//
// What is compared, for each pair of accesses to one variable, on every path of the program:
//   1. SOUND. What the engine calls definite is, wherever both accesses happen, unordered and certain to the
//      reference; what it calls latent is latent or worse. So what the reference orders, on one path, is no error.
//   2. COMPLETE. Where the reference has an error on every path the engine reports one.
// Where the engine differs on purpose the reason is in reference_differences.def, and nowhere else.
//
// And random programs with loops, for which there is no second opinion: the analysis must end, and report the same
// when run twice.
//
// STREAMSAN_RANDOM_PROGRAMS in the environment: how many programs of each mixture.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/analysis/tests/random_script.h"
#include "analyzer/analysis/tests/script.h"

namespace streamsan::analyzer::testing {
namespace {

using ordering::HazardKind;

struct Row {
  const char* id;
  const char* what;
  const char* why;
};
constexpr Row kDifferences[] = {
#define SS_DIFFERENCE(enumerator, id, what, why) {id, what, why},
#include "analyzer/analysis/tests/reference_differences.def"
#undef SS_DIFFERENCE
};

unsigned programs() {
  const char* text = std::getenv("STREAMSAN_RANDOM_PROGRAMS");
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 3000;
}

/// How bad a pair of accesses is to the reference on the paths where both happen.
struct Verdicts {
  int best = 3, worst = 0;  ///< 0 ordered, 1 latent, 2 possible, 3 an error
  void add(int badness) {
    best = std::min(best, badness);
    worst = std::max(worst, badness);
  }
};
using Access = std::tuple<int, int, std::string>;

int badness(const JudgedPair& pair) {
  if (!pair.certain) return 2;
  return pair.order == ordering::Order::Unordered ? 3 : 1;
}

class Comparison {
 public:
  Comparison(const RandomScript& script, Differences differences, const std::string& text)
      : text_(text), differences_(differences) {
    for (const auto& path : script.paths())
      for (const bool succeed : {false, true}) {
        if (succeed && !script.has_queries()) continue;
        runs_.push_back(script.judge(path, succeed, {}));
        weaker_runs_.push_back(script.judge(path, succeed, differences));
      }
    engine_ = read(text);
    verdict_ = analyze(engine_.function, engine_.program);
  }

  /// Empty: they agree.
  std::string disagreement() {
    for (const Hazard& h : verdict_.hazards) sound(h);
    complete();
    return out_.str().empty() ? "" : text_ + out_.str() + "engine:\n" + reported_all(text_);
  }

  unsigned definite = 0, latent = 0, silent = 0;

 private:
  void sound(const Hazard& h) {
    if (!h.earlier || group(h.check) != Group::Correctness) return;
    if (h.check == Check::EventRerecord || h.level == Level::Maybe) return;
    const int earlier = static_cast<int>(h.earlier->where.site.line), later = static_cast<int>(h.later.where.site.line);
    ++(h.level == Level::Definite ? definite : latent);
    const Verdicts all = verdicts(runs_, earlier, later, h.buffer.name);
    const int claim = h.level == Level::Definite ? 3 : 1;
    if (all.best >= claim && all.worst != 0) return;
    if (differences_[static_cast<std::size_t>(Difference::AfterTheEnd)] && after_the_end(later, h.buffer.name)) return;
    const bool pageable = h.buffer.name == "p0" && h.check != Check::AsyncCopyLifetime;
    if (differences_[static_cast<std::size_t>(Difference::PageableAccesses)] && pageable) return;
    out_ << id(h.check) << " " << name(h.level) << " " << later << "<" << earlier << " on " << h.buffer.name
         << ": to the reference it is " << all.best << " to " << all.worst << "\n";
  }

  static Verdicts verdicts(const std::vector<Judged>& runs, int earlier, int later, const std::string& variable) {
    Verdicts all;
    for (const Judged& run : runs) {
      const auto both = [&](int line) { return happened(run, line); };
      if (!both(earlier) || !both(later)) continue;
      int worst = 0;
      for (const JudgedPair& pair : run.pairs)
        if (pair.earlier == earlier && pair.later == later && pair.variable == variable)
          worst = std::max(worst, badness(pair));
      all.add(worst);
    }
    return all;
  }

  /// The second line of a free, and the lines before all segments, are of no statement.
  static bool happened(const Judged& run, int line) {
    return line <= run.lines.front() || std::ranges::find(run.lines, line) != run.lines.end() ||
           std::ranges::find(run.lines, line - 1) != run.lines.end();
  }

  /// The later use is one of freed memory, wherever it happens.
  [[nodiscard]] bool after_the_end(int later, const std::string& variable) const {
    return std::ranges::all_of(runs_, [&](const Judged& run) {
      return !happened(run, later) || std::ranges::any_of(run.pairs, [&](const JudgedPair& pair) {
        return pair.later == later && pair.variable == variable && pair.kind == HazardKind::UseAfterFree;
      });
    });
  }

  void complete() {
    for (const Judged& run : weaker_runs_) {
      const bool error = std::ranges::any_of(run.pairs, [&](const JudgedPair& pair) { return badness(pair) == 3; });
      if (!error) return;
    }
    for (const JudgedPair& pair : weaker_runs_.front().pairs) {
      if (verdicts(weaker_runs_, pair.earlier, pair.later, pair.variable).best != 3) continue;
      const bool found = std::ranges::any_of(verdict_.hazards, [](const Hazard& h) {
        return h.level == Level::Definite && group(h.check) == Group::Correctness;
      });
      if (found) return void(++silent);
      out_ << "only the reference: " << pair.later << "<" << pair.earlier << " on " << pair.variable << "\n";
    }
  }

  std::string text_;
  Differences differences_;
  std::vector<Judged> runs_, weaker_runs_;
  Script engine_;
  Verdict verdict_;
  std::ostringstream out_;
};

/// Empty: the engine and the reference agree about the program.
std::string disagreement(unsigned seed, Mixture mixture, Differences differences) {
  const RandomScript script(seed, mixture);
  return Comparison(script, differences, script.text()).disagreement();
}

void compare(Mixture mixture) {
  unsigned definite = 0, latent = 0, both = 0, shown = 0;
  for (unsigned seed = 0; seed < programs(); ++seed) {
    const RandomScript script(seed, mixture);
    const std::string text = script.text();
    Comparison comparison(script, Differences().set(), text);
    const std::string disagreement = comparison.disagreement();
    if (!disagreement.empty()) {
      ADD_FAILURE() << "seed " << seed << "\n" << disagreement;
      if (++shown == 3) return;
    }
    definite += comparison.definite;
    latent += comparison.latent;
    both += comparison.silent;
  }
  std::printf("%u programs: %u definite, %u latent, %u in which both have an error\n", programs(), definite, latent,
              both);
  EXPECT_GT(definite, programs() / 3);
  EXPECT_GT(both, programs() / 4);
  if (mixture.memory) {
    EXPECT_GT(latent, programs() / 10);
  }
}

TEST(Random, Straight) { compare({}); }
TEST(Random, Branches) { compare({.branches = true}); }
TEST(Random, Devices) { compare({.devices = true}); }
TEST(Random, DevicesNotKnown) { compare({.devices = true, .unknown_devices = true}); }
TEST(Random, DevicesAndBranches) { compare({.branches = true, .devices = true}); }
TEST(Random, Memory) { compare({.memory = true}); }
TEST(Random, MemoryAndBranches) { compare({.branches = true, .memory = true}); }
TEST(Random, MemoryOfDevices) { compare({.devices = true, .memory = true}); }

TEST(Random, EveryDifferenceIsNeeded) {
  for (std::size_t i = 0; i < std::size(kDifferences); ++i) {
    const Differences without = Differences().set().reset(i);
    const bool devices = static_cast<Difference>(i) == Difference::DeviceNotKnown ||
                         static_cast<Difference>(i) == Difference::CopyBetweenDevices ||
                         static_cast<Difference>(i) == Difference::FreeWaitsForAll;
    const Mixture mixture{.devices = devices, .unknown_devices = devices, .memory = true};
    unsigned seed = 0;
    while (seed < 20'000 && disagreement(seed, mixture, without).empty()) ++seed;
    EXPECT_LT(seed, 20'000) << kDifferences[i].id << ": no program shows it";
  }
}

TEST(Random, ThePageHasEveryDifference) {
  std::ifstream in(STREAMSAN_MODEL_PAGE);
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const std::size_t begin = text.find("| streamsan-tidy | because |\n|---|---|\n");
  ASSERT_NE(begin, std::string::npos);
  std::string rows;
  for (const Row& row : kDifferences) rows += std::string("| ") + row.what + " | " + row.why + " |\n";
  const std::size_t first = text.find('\n', text.find('\n', begin) + 1) + 1;
  EXPECT_EQ(text.substr(first, text.find("\n\n", first) + 1 - first), rows);
}

TEST(Random, LoopsEnd) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::string text = RandomScript(seed, {.branches = true}).text(true);
    const std::string once = reported_all(text);
    EXPECT_EQ(once.find("gave up"), std::string::npos) << text;
    EXPECT_EQ(once, reported_all(text));
  }
}

}  // namespace
}  // namespace streamsan::analyzer::testing
