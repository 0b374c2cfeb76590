// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run is one of many, but of the program as it is. The other half of the analyzer supposes values, numbers of rounds
// and orders of calls; where a run has done the same things in the same order and met no conflict, what was supposed is
// wrong.
#include "analyzer/tidy/runs.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "analyzer/ir/naming.h"
#include "analyzer/ir/written_out.h"

namespace streamsan::analyzer {
namespace {

using Left = LeftToRuns::Left;
using Supposed = LeftToRuns::Supposed;
using Way = LeftToRuns::Way;

Way way_of(const Hazard& hazard) {
  Way way{line(hazard.later.where.site)};
  if (hazard.earlier) way.insert(way.begin(), line(hazard.earlier->where.site));
  if (hazard.later.work == ir::Work::GraphLaunch && !hazard.evidence.empty())
    way.insert(way.begin(), line(hazard.evidence.front().where.site));
  return way;
}

/// The run goes this way, and meets no conflict there. How a whole program makes the calls is how they are made, in
/// whichever order. A made-up caller has the last word on graphs alone: objects that it makes otherwise may behave
/// otherwise.
bool goes_through(const Followed::Run& run, const Way& way, bool whole_program) {
  constexpr std::size_t kOfGraph = 3;
  if (way.size() < 2 || (!whole_program && way.size() < kOfGraph)) return false;
  if (run.conflicts.contains({way[way.size() - 2], way.back()})) return false;
  std::size_t before = 0;
  for (std::size_t i = 0; i < way.size(); ++i) {
    const auto known = run.times.find(way[i]);
    if (known == run.times.end()) return false;
    // The first of them as early as it is, the others as late: what lies between was done in between.
    const std::size_t time = i == 0 ? known->second.first : known->second.last;
    if (!whole_program && time < before) return false;
    before = time;
  }
  return true;
}

/// Of rounds: it does the first of the two more often than rounds are supposed; with fewer, another argument may show
/// more.
bool settles(const Followed::Run& run, const Left& left, bool whole_program) {
  if (left.supposed == Supposed::Values) {
    if (!whole_program || !run.whole) return false;
    if (left.way.size() == 1) return run.times.contains(left.way[0]) && !run.empty_waits.contains(left.way[0]);
  }
  if (!goes_through(run, left.way, whole_program)) return false;
  if (left.supposed == Supposed::Values) return true;
  const std::size_t count = run.times.at(left.way[left.way.size() - 2]).count;
  return left.supposed == Supposed::Calls || (whole_program && count > static_cast<std::size_t>(ir::kMostRounds));
}

/// Lines that a conflict of a run may stand at, if it is the defect that `finding` shows: both sides; of a dependent
/// launch also the launch itself, where a run finds it.
std::vector<std::pair<Line, Line>> lines_of(const Finding& finding) {
  std::vector<std::pair<Line, Line>> result{two_lines(finding)};
  if (finding.check == Check::DependentLaunchRace)
    for (const Note& note : finding.notes)
      if (const Line other = line(other_side(finding)); line(note.site) != other)
        result.push_back(std::minmax(line(note.site), other));
  return result;
}

}  // namespace

bool is_race(const Hazard& hazard) {
  return hazard.check == Check::CrossStreamRace || hazard.check == Check::HostWriteBeforeDone ||
         hazard.check == Check::HostReadBeforeDone || hazard.check == Check::NonblockingVsDefault;
}

void LeftToRuns::add(std::size_t finding, const Hazard& hazard, Supposed supposed) {
  all_.push_back({finding, way_of(hazard), supposed});
}

void LeftToRuns::settle(const Followed& followed, std::vector<Finding>& findings) const {
  const bool whole_program = followed.callers.empty();
  for (const Left& left : std::ranges::reverse_view(all_))
    if (std::ranges::any_of(followed.runs, [&](const auto& run) { return settles(run, left, whole_program); }))
      findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(left.finding));
}

void add_found_by_runs(Followed& followed, std::vector<Finding>& findings) {
  // Known already, perhaps by another column; and of one function one defect shows in many pairs.
  std::set<std::pair<Line, Line>> lines;
  std::set<std::pair<Check, std::string>> functions;
  const bool made_up = !followed.callers.empty();
  for (const Finding& finding : findings)
    if (finding.level == Level::Definite || finding.level == Level::Likely) {
      std::ranges::copy(lines_of(finding), std::inserter(lines, lines.end()));
      if (made_up) functions.emplace(finding.check, ir::last_component(finding.site.function));
    }
  std::ranges::stable_partition(followed.hazards, [](const Hazard& each) { return each.level != Level::Latent; });
  for (const Hazard& hazard : followed.hazards) {
    Finding finding = word(hazard);
    const bool first = !made_up || functions.emplace(finding.check, ir::last_component(finding.site.function)).second;
    if (lines.insert(two_lines(finding)).second && first) findings.push_back(std::move(finding));
  }
}

std::string text_of(const Followed& followed) {
  if (!followed.there && followed.callers.empty()) return "";
  std::string text = (followed.callers.empty() ? "main() was followed for " : "callers were followed for ") +
                     std::to_string(followed.steps) + " steps, " +
                     (followed.stopped.empty() ? "to its end" : "until " + followed.stopped) + "\n";
  for (const Followed::MadeUp& caller : followed.callers) {
    text += caller.text + "  " + (caller.stopped.empty() ? "to its end" : "until " + caller.stopped) + "\n";
    for (const std::size_t line : caller.thrown) text += "  line " + std::to_string(line) + " has thrown\n";
  }
  for (const std::string& name : followed.unknown) text += "  not known: " + name + "\n";
  return text;
}

}  // namespace streamsan::analyzer
