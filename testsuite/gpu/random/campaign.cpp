// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/campaign.h"

#include <chrono>
#include <cstdio>
#include <fstream>

#include "testsuite/gpu/random/generate.h"

namespace streamsan::lab {
namespace {

constexpr std::uint64_t kMostShrunk = 20;  ///< programs of a campaign; the others are printed as they are

std::string with_reasons(const Program& program, const Comparison& comparison) {
  std::string text = "# seed " + std::to_string(program.seed) + "\n";
  for (const Disagreement& each : comparison.disagreements)
    text += "# " + each.text + ", which the model orders behind the held operation (" + name_of(each.order) + ")\n";
  return text + describe(program);
}

void keep(const std::string& folder, const Program& program, const Comparison& comparison) {
  std::ofstream(folder + "/seed-" + std::to_string(program.seed) + ".txt") << with_reasons(program, comparison);
}

}  // namespace

void report(const Program& program, const Comparison& comparison, const std::string& how_often) {
  std::printf("DISAGREEMENT %s\n%s\n", how_often.c_str(), with_reasons(program, comparison).c_str());
  std::fflush(stdout);
}

Tally run(const Campaign& campaign, Executor& executor) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto goes_wrong = [&](const Program& program) {
    // The hardware may be lucky once.
    for (int i = 0; i < 3; ++i) {
      if (!examine(program, executor, campaign.planted).disagreements.empty()) return true;
    }
    return false;
  };
  Tally tally;
  for (std::uint64_t i = 0; i < campaign.count && passed() < static_cast<double>(campaign.seconds); ++i) {
    Program program = random_program(campaign.first_seed + i, campaign.devices);
    const Observation observation = executor.run(program);
    const Comparison comparison = compare(program, observation, predict(program, observation, campaign.planted));
    ++tally.programs;
    tally.valid += comparison.valid;
    tally.asked += comparison.asked;
    tally.overlaps += comparison.overlaps;
    if (!observation.trouble.empty() && tally.failed++ < 10)
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(program.seed), observation.trouble.c_str());
    if (comparison.disagreements.empty()) continue;
    ++tally.disagreeing;
    int again = 0;
    for (int k = 0; k < 5; ++k) again += !examine(program, executor, campaign.planted).disagreements.empty();
    Comparison shown = comparison;
    if (campaign.shrinks && again > 0 && tally.disagreeing <= kMostShrunk) {
      program = shrink(program, goes_wrong);
      for (int k = 0; k < 5; ++k) {
        const Comparison shrunk = examine(program, executor, campaign.planted);
        if (!shrunk.disagreements.empty()) shown = shrunk;
      }
    }
    report(program, shown, "again in " + std::to_string(again) + " of 5 runs");
    if (!campaign.kept.empty()) keep(campaign.kept, program, shown);
  }
  tally.seconds = passed();
  return tally;
}

}  // namespace streamsan::lab
