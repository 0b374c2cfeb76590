// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/run_syncs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "judge/explain_syncs.h"
#include "judge/frames.h"
#include "judge/site_reader.h"
#include "judge/symbolizer.h"
#include "judge/sync_replay.h"
#include "judge/times.h"
#include "trace/reader.h"

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kStopEvery = 1 << 14;  // records between two looks at stop
constexpr std::uint32_t kTimingSince = 4;      // trace format that tells where clocks are read

}  // namespace

void SyncNotes::keep(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::HostIdle>();
  idle_.push_back(
      {.position = w.position, .range = {w.address, w.address + w.bytes}, .until_touched = w.until_touched != 0});
}

std::vector<IdleMemory> SyncNotes::take() {
  // Touches by threads that may run host functions do not reach the model (judge/lifetimes.cpp).
  if (host_code_) std::erase_if(idle_, [](const IdleMemory& each) { return each.until_touched; });
  std::stable_sort(idle_.begin(), idle_.end(), [](const auto& a, const auto& b) { return a.position < b.position; });
  return std::move(idle_);
}

std::string judge_syncs(Verdict& verdict, const RunOptions& options, const Sinks& sinks, const trace::Reader& reader,
                        SyncNotes notes, Symbolizer& symbolizer) {
  if (reader.removed()) return "the start of the trace has been removed";

  SyncInput input;
  // A wait that is left out is not judged with order between threads: they are joined.
  input.options.host_threads = ordering::Options::HostThreads::Joined;
  if (options.host_threads == ordering::Options::HostThreads::Separate)
    input.options.host_threads = options.host_threads;
  if (!reader.problem().empty()) input.doubts.push_back("the trace is not whole");
  if (reader.header().version < kTimingSince) {
    input.doubts.push_back("the trace is of an older version, which does not tell where a clock is read");
  }
  if (trace::recorded_without(reader.header().recorded_with, trace::kWithSyncs)) {
    input.doubts.push_back("the trace was recorded without the option syncs, and does not tell where a clock is read");
  }
  if (reader.end() != trace::End::Exited) {
    input.doubts.push_back(
        "the process did not end by itself, or was not recorded to its end: what it would have done "
        "then is not known");
  }
  input.idle = notes.take();
  std::optional<Times> times;
  if (options.timings) input.observe = [&times](Judge& judge) { judge.add_observer(times.emplace(judge)); };
  std::string problem;
  input.feed = [&](Judge& judge) {
    auto again = trace::Reader::open(options.trace, {}, problem);
    if (!again) return false;
    judge.code().enable(options.kernel_code, again->header().start_time_ns);
    std::uint64_t records = 0;
    trace::Item item;
    while (again->next(item) == trace::Step::Record) {
      judge.consume(item);
      if (++records % kStopEvery == 0 && sinks.stop && sinks.stop()) return false;
    }
    return true;
  };
  input.made_by_cuda = [&](const Places& places, std::span<const ordering::SiteId> calls) {
    SiteReader sites(places, symbolizer);
    for (const ordering::SiteId call : calls) sites.want(call);
    std::vector<ordering::SiteId> out;
    std::copy_if(calls.begin(), calls.end(), std::back_inserter(out),
                 [&](ordering::SiteId call) { return is_made_by_cuda(sites.stack(call)); });
    return out;
  };
  const SyncJudgement judgement = judge_syncs(input);
  if (!judgement.complete) return problem.empty() ? "interrupted" : problem;
  verdict.syncs_judged = true;
  if (times) times->finish();
  for (report::Finding& finding : explain(judgement, symbolizer, times ? &*times : nullptr)) {
    finding.pid = verdict.pid;
    verdict.findings.push_back(std::move(finding));
  }
  return {};
}

}  // namespace streamsan::judge
