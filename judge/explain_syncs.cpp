// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/explain_syncs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "judge/explain.h"
#include "judge/frames.h"
#include "judge/site_reader.h"
#include "report/text.h"

namespace streamsan::judge {
namespace {

using ordering::Instead;
using Why = ordering::Exposure::Why;

std::string joined(const std::vector<std::string>& parts, const char* last) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += i + 1 == parts.size() ? std::string(" ") + last + " " : ", ";
    out += parts[i];
  }
  return out;
}

constexpr std::size_t kMostNamed = 4;

class SyncExplainer {
 public:
  SyncExplainer(const SyncJudgement& judgement, Symbolizer& symbolizer, const Times* times)
      : judgement_(judgement), sites_(judgement.places(), symbolizer), times_(times) {}

  void want(const SyncSite& site);
  report::Finding finding(const SyncSite& site);

 private:
  /// "cudaDeviceSynchronize (train.cu:88)".
  std::string at(ordering::SiteId site) { return sites_.what(site) + sites_.place(site); }
  std::string call(const SyncSite& site) { return at(site.cut.site); }
  bool runtime(const SyncSite& site) {
    const std::vector<report::Frame>& stack = sites_.stack(site.cut.site);
    return stack.empty() || !runtime_call(stack).empty();
  }
  std::string deed(const SyncPair& pair, bool later);
  std::string waits_for(const SyncSite& site);
  std::string subject(const SyncSite& site);
  std::string between(const SyncSite& site);
  std::string reason(const SyncExposure& exposure);
  std::string kernels(const SyncSite& site);
  std::string replacement(const SyncSite& site);
  std::string place_of_move(const SyncSite& site, ordering::SiteId to);
  std::string group_mates(const SyncSite& site, bool removable);

  report::OrderedPair ordered(const SyncPair& pair);
  std::string message(const SyncSite& site);
  std::string explanation(const SyncSite& site, const report::SyncReport& report);
  std::string fix(const SyncSite& site, const report::SyncReport& report);

  const SyncJudgement& judgement_;
  SiteReader sites_;
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

std::string SyncExplainer::deed(const SyncPair& pair, bool later) {
  const ordering::Access& access = later ? pair.later : pair.earlier;
  const StreamLife& stream = later ? pair.later_stream : pair.earlier_stream;
  return sites_.deed(access.site, access) + sites_.place(access.site) +
         (access.on_stream ? " on " + stream_report(stream).name : "");
}

std::string SyncExplainer::waits_for(const SyncSite& site) {
  switch (site.kind) {
    case SyncKind::Device:
      return "all work of the device";
    case SyncKind::Stream:
      if (site.stream.kind == ordering::StreamKind::Legacy) return "the legacy default stream and all blocking streams";
      return stream_report(site.stream).name;
    case SyncKind::Event:
      return "an event";
    case SyncKind::Barrier:
      return "the work of all blocking streams";
    case SyncKind::Copy:
      return "the copy, and for what is before it in its stream";
    case SyncKind::Fill:
      return "the fill, and for what is before it in its stream";
    case SyncKind::Free:
      return "all work of the device";
  }
  return {};
}

/// What is judged: the call, or what it does besides its work.
std::string SyncExplainer::subject(const SyncSite& site) {
  switch (site.kind) {
    case SyncKind::Device:
    case SyncKind::Stream:
    case SyncKind::Event:
      return call(site);
    case SyncKind::Barrier:
      return "the barrier that " + call(site) + " makes in the legacy default stream";
    case SyncKind::Copy:
    case SyncKind::Fill:
    case SyncKind::Free:
      return "the wait of " + call(site);
  }
  return {};
}

std::string SyncExplainer::between(const SyncSite& site) {
  if (site.pairs.empty()) return "";
  const std::uint64_t more = site.pairs.size() - 1 + site.more_pairs;
  return deed(site.pairs[0], false) + " and " + deed(site.pairs[0], true) +
         (more ? ", and " + report::counted(more, "more pair") : "");
}

std::string SyncExplainer::reason(const SyncExposure& exposure) {
  const std::string what = at(exposure.site);
  const std::string memory = memory_name(exposure.memory);
  const std::string unseen = exposure.memory == ordering::MemoryKind::Pageable
                                 ? "what the host does with pageable memory cannot be seen"
                                 : "what the host does with " + memory + " then was not watched";
  switch (exposure.why) {
    case Why::HostRead:
      return "the host may read what " + what + " has written, once it has waited: " + unseen + ".";
    case Why::HostWrite:
      return "the host may overwrite or free what " + what + " reads, once it has waited: " + unseen + ".";
    case Why::Graph:
      if (exposure.comes_after) return "a graph (" + what + ") comes after it, and what a graph does is not known.";
      return "the host waits for a graph (" + what + "), and what a graph does is not known.";
    case Why::HostFunction:
      if (exposure.comes_after) return "a host function (" + what + ") comes after it, which may do anything.";
      return "the host waits for a host function (" + what + "), which may tell the host anything.";
    case Why::Print:
      return what + " prints, which comes out where the host waits.";
    case Why::Kernel:  // told for all together
      return "";
    case Why::Action:
      return "the host waits for " + what + ", after which it may touch memory or read what was written.";
    case Why::End:
      return "nothing else waits for " + what +
             (exposure.stream_life.number || exposure.stream_life.kind == ordering::StreamKind::Legacy
                  ? " on " + stream_report(exposure.stream_life).name
                  : "") +
             " before the program ends.";
  }
  return {};
}

std::string SyncExplainer::kernels(const SyncSite& site) {
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const SyncExposure& exposure : site.exposures) {
    if (exposure.why != Why::Kernel) continue;
    std::string text = at(exposure.site);
    if (std::find(names.begin(), names.end(), text) != names.end()) continue;
    names.size() < kMostNamed ? names.push_back(std::move(text)) : void(++more);
  }
  if (more > 0) names.push_back(std::to_string(more) + " more");
  return joined(names, "and");
}

/// A call, or what the host itself does with the memory.
std::string SyncExplainer::place_of_move(const SyncSite& site, ordering::SiteId to) {
  for (const SyncPair& pair : site.pairs) {
    if (pair.later.site == to && !pair.later.on_stream && pair.later.source == ordering::AccessSource::Host)
      return deed(pair, true) + ", the first one if there are several";
  }
  return at(to);
}

std::string SyncExplainer::replacement(const SyncSite& site) {
  const bool runtime = this->runtime(site);
  const std::string record = runtime ? "cudaEventRecord" : "cuEventRecord";
  const std::string wait = runtime ? "cudaStreamWaitEvent" : "cuStreamWaitEvent";
  const std::string sync_stream = runtime ? "cudaStreamSynchronize" : "cuStreamSynchronize";
  const std::string sync_event = runtime ? "cudaEventSynchronize" : "cuEventSynchronize";
  // Names of streams are those of the pairs and exposures.
  const auto stream_name = [&](ordering::StreamId id) -> std::string {
    for (const SyncPair& pair : site.pairs) {
      if (pair.earlier.on_stream && pair.earlier.stream == id) return stream_report(pair.earlier_stream).name;
      if (pair.later.on_stream && pair.later.stream == id) return stream_report(pair.later_stream).name;
    }
    for (const SyncExposure& exposure : site.exposures) {
      if (exposure.stream == id) return stream_report(exposure.stream_life).name;
    }
    return "the stream";
  };
  std::vector<std::string> parts;
  std::vector<ordering::StreamId> recorded;
  for (const Instead& instead : site.replacement.instead) {
    switch (instead.kind) {
      case Instead::Kind::EventWait: {
        // One record serves all who wait for the stream.
        auto known = std::find(recorded.begin(), recorded.end(), instead.from);
        const std::size_t number = static_cast<std::size_t>(known - recorded.begin());
        const std::string event = number == 0 ? "event" : "event" + std::to_string(number + 1);
        if (known == recorded.end()) {
          recorded.push_back(instead.from);
          parts.push_back(record + "(" + event + ", " + stream_name(instead.from) + ")");
        }
        parts.push_back(wait + "(" + stream_name(instead.to) + ", " + event + ")");
        break;
      }
      case Instead::Kind::StreamSync:
        parts.push_back(sync_stream + "(" + stream_name(instead.from) + ")");
        break;
      case Instead::Kind::EventSync:
        parts.push_back(record + "(event, " + stream_name(instead.from) + ") right after " + at(instead.other) +
                        ", and " + sync_event + "(event)");
        break;
      case Instead::Kind::Move:
        parts.push_back("the same call, moved to right before " + place_of_move(site, instead.other));
        break;
    }
  }
  return joined(parts, "and");
}

std::string SyncExplainer::group_mates(const SyncSite& site, bool removable) {
  std::vector<std::string> out;
  std::size_t more = 0;
  for (const SyncSite& other : judgement_.sites) {
    if (&other == &site || other.group != site.group || other.removable != removable) continue;
    if (out.size() == kMostNamed) {
      ++more;
      continue;
    }
    std::string text = call(other);
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
  }
  if (more > 0) out.push_back(std::to_string(more) + " more");
  return joined(out, "and");
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
        return subject(site) + " is needed only if others that wait for the same are removed.";
      }
      if (site.idle()) return subject(site) + " had nothing to wait for in this run.";
      return subject(site) + " is not needed in this run.";
    case SyncVerdict::Narrower:
      return subject(site) + " is needed only between " + between(site) + ".";
    case SyncVerdict::Timing:
      return subject(site) + " is needed for timing only.";
    case SyncVerdict::Unknown:
      return "whether " + subject(site) + " is needed is not known.";
    case SyncVerdict::Needed:
      return subject(site) + " is needed.";
  }
  return {};
}

std::string SyncExplainer::explanation(const SyncSite& site, const report::SyncReport& report) {
  const std::string waits = site.waits() ? "the host waits for " + waits_for(site) + "."
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
                             : " It does not go together with all that is advised elsewhere: change it "
                               "on its own, and judge again.");
    case SyncVerdict::Timing:
    case SyncVerdict::Unknown:
    case SyncVerdict::Needed:
      return with_reasons();
  }
  return {};
}

std::string SyncExplainer::fix(const SyncSite& site, const report::SyncReport& report) {
  const bool runtime = this->runtime(site);
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
  const bool explicit_wait =
      site.kind == SyncKind::Device || site.kind == SyncKind::Stream || site.kind == SyncKind::Event;
  if (site.idle() && !explicit_wait) return "";
  std::string out;
  switch (site.kind) {
    case SyncKind::Device:
    case SyncKind::Stream:
    case SyncKind::Event:
      out = "remove it";
      break;
    case SyncKind::Barrier:
      out =
          "in a non-blocking stream it is no barrier; there it needs events for its order with other work of the "
          "legacy "
          "stream. Judge again after the change";
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
      const std::string called = sites_.function(site.cut.site);
      if (!called.starts_with("cuMemFree") || called.starts_with("cuMemFreeHost")) break;
      out += std::string(", or use memory of ") +
             (runtime ? "cudaMallocAsync and cudaFreeAsync" : "cuMemAllocAsync and cuMemFreeAsync") +
             ", which does not wait";
      break;
    }
  }
  if (site.group == 0) return out + ".";
  const std::string kept = group_mates(site, false);
  const std::string gone = group_mates(site, true);
  if (site.removable) return out + "; " + (kept.empty() ? "one that waits for the same" : kept) + " must stay.";
  if (!gone.empty()) return "keep it, for it stands for " + gone + " when that is removed.";
  return "keep it, since of those that wait for the same (" + kept + ") not all can go.";
}

report::Finding SyncExplainer::finding(const SyncSite& site) {
  report::Finding out;
  out.kind = report::Kind::UnneededSync;
  out.severity = report::Severity::Note;
  out.hazard = name(site.verdict);
  out.cause = name(site.verdict);
  report::SyncReport& report = out.sync.emplace();
  report.verdict = name(site.verdict);
  report.waits = name(site.kind);
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
    std::string text = reason(exposure);
    if (!text.empty() && std::find(report.reasons.begin(), report.reasons.end(), text) == report.reasons.end()) {
      report.reasons.push_back(std::move(text));
    }
  }
  if (const std::string unseen = kernels(site); !unseen.empty()) {
    const bool alone = report.reasons.empty() && site.doubts.empty() && site.pairs.empty() &&
                       site.exposures.size() < SyncSite::kMostExposures;
    report.reasons.push_back("it is not known what memory is used by " + unseen +
                             " besides what the arguments lead to (module variables, constants, pointers kept in "
                             "memory). " +
                             (alone ? "Nothing else speaks for the call. " : "") +
                             "Measured footprints tell, but of constants (--footprints=measured).");
  }
  if (site.clock_reads) report.reasons.push_back(site.clock + "() is called right after it.");
  if (site.event_times) {
    report.reasons.push_back(std::string(runtime(site) ? "cudaEventElapsedTime" : "cuEventElapsedTime") +
                             (site.waits() ? " asks for the time up to an event that it waits for."
                                           : " asks for the time at the event that it records."));
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
  if (site.verdict == SyncVerdict::Narrower) report.replacement = replacement(site);
  report.evidence = judgement_.inferred_launches == 0 ? "measured" : "inferred";
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
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const SyncSite& site : judgement.sites) {
    report::Finding finding = explainer.finding(site);
    const auto [it, fresh] = known.try_emplace({finding.fingerprint, finding.hazard}, out.size());
    if (fresh) {
      out.push_back(std::move(finding));
    } else {
      add(*out[it->second].sync, *finding.sync);
    }
  }
  return out;
}

}  // namespace streamsan::judge
