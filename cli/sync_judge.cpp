// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/sync_judge.h"

#include <algorithm>
#include <utility>

#include "interposer/trace/reader.h"
#include "judge/explain_syncs.h"
#include "judge/symbolizer.h"
#include "judge/sync_replay.h"

namespace streamsan::cli {
namespace {

constexpr std::uint64_t kLookEvery = 1 << 14;  // records between two looks at stop

}  // namespace

void SyncNotes::keep(const trace::Item& item) {
  const auto& w = item.record->w;
  idle_.push_back({.position = w[2], .range = {w[0], w[0] + w[1]}});
}

std::vector<judge::IdleMemory> SyncNotes::take() {
  std::stable_sort(idle_.begin(), idle_.end(), [](const auto& a, const auto& b) { return a.position < b.position; });
  return std::move(idle_);
}

void judge_syncs(Verdict& verdict, const std::string& path, const Options& options, const TraceControl& control,
                 const trace::Reader& reader, SyncNotes notes, judge::Symbolizer& symbolizer) {
  const auto not_judged = [&verdict](const std::string& why) {
    verdict.warnings.push_back("synchronisation was not judged: " + why);
  };
  if (reader.removed()) return not_judged("the start of the trace has been removed");

  judge::SyncInput input;
  if (options.host_threads == "separate") input.options.host_threads = ordering::Options::HostThreads::Separate;
  if (!reader.problem().empty()) input.doubts.push_back("the trace is not whole");
  if (reader.end() != trace::End::Exited) {
    input.doubts.push_back(
        "the process did not end by itself, or was not recorded to its end: what it would have done "
        "then is not known");
  }
  input.idle = notes.take();
  std::string problem;
  input.feed = [&](judge::Judge& judge) {
    auto again = trace::Reader::open(path, {}, problem);
    if (!again) return false;
    judge.code().enable(options.kernel_code, again->header().start_time_ns);
    std::uint64_t records = 0;
    trace::Item item;
    while (again->next(item) == trace::Step::Record) {
      judge.consume(item);
      if (++records % kLookEvery == 0 && control.stop && *control.stop) return false;
    }
    return true;
  };
  judge::SyncJudgement judgement = judge::judge_syncs(input);
  if (!judgement.complete) return not_judged(problem.empty() ? "interrupted" : problem);
  verdict.syncs_judged = true;
  for (report::Finding& finding : judge::explain(judgement, symbolizer)) {
    finding.pid = verdict.pid;
    verdict.findings.push_back(std::move(finding));
  }
}

}  // namespace streamsan::cli
