// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/explain_syncs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "judge/explain.h"
#include "judge/frames.h"
#include "judge/site_reader.h"
#include "judge/sync_words.h"

namespace streamsan::judge {
namespace {

using ordering::Instead;

class SyncExplainer {
 public:
  SyncExplainer(const SyncJudgement& judgement, Symbolizer& symbolizer, const Times* times)
      : judgement_(judgement), sites_(judgement.places(), symbolizer), words_(judgement, sites_), times_(times) {}

  void want(const SyncSite& site);
  report::Finding finding(const SyncSite& site);

 private:
  report::OrderedPair ordered(const SyncPair& pair);
  std::string message(const SyncSite& site);
  std::string explanation(const SyncSite& site, const report::SyncReport& report);
  std::string fix(const SyncSite& site, const report::SyncReport& report);

  const SyncJudgement& judgement_;
  SiteReader sites_;
  SyncWords words_;
  const Times* times_;
};

void SyncExplainer::want(const SyncSite& site) {
  sites_.want(site.cut.site);
  for (const SyncPair& pair : site.pairs) {
    for (ordering::SiteId each : {pair.earlier.site, pair.later.site, pair.allocation.site}) sites_.want(each);
  }
  for (const SyncExposure& exposure : site.exposures) sites_.want(exposure.site);
  for (const Instead& instead : site.replacement.instead) sites_.want(instead.other);
}

report::OrderedPair SyncExplainer::ordered(const SyncPair& pair) {
  report::OrderedPair out;
  out.earlier = sites_.access(pair.earlier, pair.earlier_stream);
  out.later = sites_.access(pair.later, pair.later_stream);
  out.buffer = sites_.buffer(pair.allocation);
  if (pair.order == ordering::PairOrder::Latent) out.rule = "assumed";
  out.count = pair.count;
  return out;
}

std::string SyncExplainer::message(const SyncSite& site) {
  switch (site.verdict) {
    case SyncVerdict::Unneeded:
      if (site.group != 0 && !site.removable) {
        return words_.subject(site) + " is needed only if others that wait for the same are removed.";
      }
      if (site.idle()) return words_.subject(site) + " had nothing to wait for in this run.";
      return words_.subject(site) + " is not needed in this run.";
    case SyncVerdict::Narrower:
      return words_.subject(site) + " is needed only between " + words_.between(site) + ".";
    case SyncVerdict::Timing:
      return words_.subject(site) + " is needed for timing only.";
    case SyncVerdict::Unknown:
      return "whether " + words_.subject(site) + " is needed is not known.";
    case SyncVerdict::Needed:
      return words_.subject(site) + " is needed.";
  }
  return {};
}

std::string SyncExplainer::explanation(const SyncSite& site, const report::SyncReport& report) {
  const std::string waits = site.waits() ? "the host waits for " + words_.waits_for(site) + "."
                                         : "it is after, and before, the work of all blocking streams.";
  const auto with_reasons = [&] {
    std::string out = waits;
    for (const std::string& each : report.reasons) out += " " + each;
    return out;
  };
  switch (site.verdict) {
    case SyncVerdict::Unneeded:
      if (site.idle()) return waits + " All of that was known to be complete at each call.";
      return waits + " In a replay of this run without it no two operations are less ordered, and nothing that the " +
             "host may do depends on it, as far as it is seen.";
    case SyncVerdict::Narrower:
      return waits + " The replacement was verified: in a replay of this run with it no two operations are less " +
             "ordered." +
             (site.removable ? ""
                             : " It may conflict with other advice of this report: apply it alone and "
                               "run again.");
    case SyncVerdict::Timing:
    case SyncVerdict::Unknown:
    case SyncVerdict::Needed:
      return with_reasons();
  }
  return {};
}

std::string SyncExplainer::fix(const SyncSite& site, const report::SyncReport& report) {
  const bool runtime = words_.runtime(site);
  if (site.verdict != SyncVerdict::Unneeded && site.verdict != SyncVerdict::Narrower) return "";
  if (!report.library.empty()) {
    return "nothing in the program itself: the call is made inside of " + report.library +
           "; look for a form of the function, or a setting, that does not wait.";
  }
  if (site.verdict == SyncVerdict::Narrower) {
    const bool moves = site.replacement.instead.front().kind == Instead::Kind::Move;
    const char* verb = site.kind == SyncKind::Copy || site.kind == SyncKind::Fill
                           ? (runtime ? "use the asynchronous form (cudaMemcpyAsync, cudaMemsetAsync) followed by "
                                      : "use the asynchronous form (cuMemcpyAsync, cuMemsetD8Async) followed by ")
                       : site.kind == SyncKind::Free    ? "free it later, or in stream order; what needs the wait gets "
                       : site.kind == SyncKind::Barrier ? "use non-blocking streams, and in place of the barrier "
                                                        : "in its place ";
    return (moves ? "" : verb) + report.replacement + ".";
  }
  // What copies, or frees, is there for that. It waits for nothing.
  if (site.idle() && !is_explicit(site.kind)) return "";
  std::string out;
  switch (site.kind) {
    case SyncKind::Device:
    case SyncKind::Stream:
    case SyncKind::Event:
      out = "remove it";
      break;
    case SyncKind::Barrier:
      out =
          "submit it to a non-blocking stream, where it is no barrier, and order it with other work of the legacy "
          "stream by events. Check again after the change";
      break;
    case SyncKind::Copy:
      out = site.asynchronous
                ? std::string("copy from or to pinned memory (") + (runtime ? "cudaMallocHost" : "cuMemAllocHost") +
                      "), which does not block"
                : std::string("use ") + (runtime ? "cudaMemcpyAsync" : "the asynchronous form of the copy");
      break;
    case SyncKind::Fill:
      out = std::string("use ") + (runtime ? "cudaMemsetAsync" : "the asynchronous form of the fill");
      break;
    case SyncKind::Free: {
      out = "free it where no work is under way";
      const api::EffectKind called = sites_.places().row(site.cut.site).effect.kind;
      if (called != api::EffectKind::Free && called != api::EffectKind::FreeAsync) break;
      out += std::string(", or use memory of ") +
             (runtime ? "cudaMallocAsync and cudaFreeAsync" : "cuMemAllocAsync and cuMemFreeAsync") +
             ", which does not wait";
      break;
    }
  }
  if (site.group == 0) return out + ".";
  const std::string kept = words_.group_mates(site, false);
  const std::string gone = words_.group_mates(site, true);
  if (site.removable) return out + "; " + (kept.empty() ? "one that waits for the same" : kept) + " must stay.";
  if (!gone.empty()) return "keep it, for it stands for " + gone + " when that is removed.";
  return "keep it: of the calls that wait for the same work (" + kept + "), at least one must stay.";
}

report::Finding SyncExplainer::finding(const SyncSite& site) {
  report::Finding out;
  out.kind = report::Kind::UnneededSync;
  out.severity = report::Severity::Note;
  out.hazard = report::Word<report::Hazard>::of(name(site.verdict));
  out.cause = report::Word<report::Cause>::of(name(site.verdict));
  report::SyncReport& report = out.sync.emplace();
  report.verdict = site.verdict;
  report.waits = site.kind;
  report.what = sites_.what(site.cut.site);
  report.api = sites_.function(site.cut.site);
  if (site.kind == SyncKind::Stream) report.stream = stream_report(site.stream);
  report.calls = std::max(site.calls, site.mattered);
  report.idle_calls = report.calls - site.mattered;
  report.stack = sites_.stack(site.cut.site);
  report.library = calling_library(report.stack);
  for (const SyncPair& pair : site.pairs) report.orders.push_back(ordered(pair));
  // Certain before possible, and where the pair would race before where today's driver would still order it.
  std::vector<std::size_t> order(site.pairs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const SyncPair &x = site.pairs[a], &y = site.pairs[b];
    return std::pair(x.certainty, -static_cast<int>(x.order)) < std::pair(y.certainty, -static_cast<int>(y.order));
  });
  std::vector<report::OrderedPair> sorted;
  for (std::size_t index : order) sorted.push_back(std::move(report.orders[index]));
  report.orders = std::move(sorted);
  for (const SyncExposure& exposure : site.exposures) {
    std::string text = words_.reason(exposure);
    if (!text.empty() && std::find(report.reasons.begin(), report.reasons.end(), text) == report.reasons.end()) {
      report.reasons.push_back(std::move(text));
    }
  }
  if (const std::string unseen = words_.kernels(site); !unseen.empty()) {
    const bool alone = report.reasons.empty() && site.doubts.empty() && site.pairs.empty() &&
                       site.exposures.size() < SyncSite::kMostExposures;
    report.reasons.push_back("it is not known what memory is used by " + unseen +
                             " besides what the arguments lead to (module variables, constants, pointers kept in "
                             "memory). " +
                             (alone ? "Nothing else needs the call. " : "") +
                             "--footprints=measured finds it out, except for constants.");
  }
  if (site.clock_reads) report.reasons.push_back(site.clock + "() is called right after it.");
  if (site.event_times) {
    report.reasons.push_back(std::string(words_.runtime(site) ? "cudaEventElapsedTime" : "cuEventElapsedTime") +
                             (site.waits() ? " measures the time up to an event that it waits for."
                                           : " measures the time at the event that it records."));
  }
  if (site.verdict == SyncVerdict::Unknown) {
    for (const std::string& doubt : site.doubts) report.reasons.push_back(doubt + ".");
  }
  if (site.verdict == SyncVerdict::Needed &&
      std::all_of(site.pairs.begin(), site.pairs.end(),
                  [](const SyncPair& pair) { return pair.certainty == ordering::Certainty::Possible; }) &&
      !site.pairs.empty()) {
    report.reasons.push_back(
        "What the kernels touch is not known exactly; they may use disjoint parts of the memory, and then it is not "
        "needed.");
  }
  if (site.verdict == SyncVerdict::Narrower) report.replacement = words_.replacement(site);
  report.evidence = judgement_.inferred_launches == 0 ? report::KernelBytes::Measured : report::KernelBytes::Inferred;
  report.group = site.group;
  report.removable = site.removable;
  if (site.timed) report.blocked_ms = static_cast<double>(site.blocked_ns) / 1e6;
  if (const SyncCost* cost = times_ && site.waits() ? times_->cost(site.cut.site) : nullptr) {
    report.gpu_idle_ms = cost->gpu_idle_ms;
    report.overlap_ms = cost->overlap_ms;
  }

  out.message = message(site);
  out.explanation = explanation(site, report);
  out.fix = fix(site, report);
  Fingerprint print;
  print.add(site.waits() ? "sync" : "barrier");
  sites_.add_to(print, site.cut.site);
  out.fingerprint = print.text();
  return out;
}

/// One place may be several sites when the stacks differ in frames that a fingerprint leaves out.
void add(report::SyncReport& to, const report::SyncReport& from) {
  to.calls += from.calls;
  to.idle_calls += from.idle_calls;
  for (auto member :
       {&report::SyncReport::blocked_ms, &report::SyncReport::gpu_idle_ms, &report::SyncReport::overlap_ms}) {
    if (from.*member) to.*member = (to.*member).value_or(0) + *(from.*member);
  }
}

}  // namespace

std::vector<report::Finding> explain(const SyncJudgement& judgement, Symbolizer& symbolizer, const Times* times) {
  SyncExplainer explainer(judgement, symbolizer, times);
  for (const SyncSite& site : judgement.sites) explainer.want(site);
  std::vector<report::Finding> out;
  std::map<std::pair<std::string, report::Verdict>, std::size_t> known;
  for (const SyncSite& site : judgement.sites) {
    report::Finding finding = explainer.finding(site);
    const auto [it, fresh] = known.try_emplace({finding.fingerprint, finding.sync->verdict}, out.size());
    if (fresh) {
      out.push_back(std::move(finding));
    } else {
      add(*out[it->second].sync, *finding.sync);
    }
  }
  return out;
}

}  // namespace streamsan::judge
