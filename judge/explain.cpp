// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers all addresses first, so that each module is symbolised in one go, then builds the findings one by one.
#include "judge/explain.h"

#include <algorithm>
#include <map>
#include <utility>

#include "judge/frames.h"
#include "judge/framework.h"
#include "judge/missing_edges.h"
#include "judge/signature.h"
#include "judge/site_reader.h"
#include "judge/wording.h"
#include "ordering/rules.h"

namespace streamsan::judge {
namespace {

using ordering::Access;
using ordering::AccessSource;
using ordering::Hazard;

class Explainer {
 public:
  Explainer(const Marks& marks, const Places& places, Symbolizer& symbolizer, bool measuring)
      : marks_(marks), sites_(places, symbolizer), measuring_(measuring) {}

  void want(const KeptHazard& kept) {
    const Hazard& hazard = kept.hazard;
    if (kept.failed) sites_.want(kept.failed->site);
    for (ordering::SiteId site :
         {hazard.later.site, hazard.earlier.site, hazard.allocation.site, hazard.freed, hazard.explanation.record_site,
          hazard.explanation.wait_site, hazard.later.launched, hazard.earlier.launched, kept.earlier_stream.created,
          kept.later_stream.created, kept.event.created}) {
      sites_.want(site);
    }
    if (!is_of_two_threads(hazard)) return;
    sites_.want(thread_of(hazard.earlier).created);
    sites_.want(thread_of(hazard.later).created);
  }

  report::Finding finding(const KeptHazard& kept);
  /// The same for hazards that are repeats of each other but for their severity.
  [[nodiscard]] std::string repeat_key(const KeptHazard& kept) const;
  /// The repair of all hazards of a group, which the edge repairs. `worst` is one of them, and explained whole.
  std::string fix_of_group(const KeptHazard& worst, std::span<const KeptHazard* const> hazards,
                           const MissingEdge& edge);

 private:
  /// What the words are about: both accesses, and the memory.
  struct Sides {
    report::AccessReport later;
    report::AccessReport earlier;
    report::BufferReport buffer;
  };
  Sides sides(const KeptHazard& kept);
  report::BufferReport buffer_report(const KeptHazard& kept);
  std::vector<report::RelatedOp> related(const KeptHazard& kept);
  /// A report of one thread has no word of it.
  static bool is_of_two_threads(const Hazard& hazard) { return hazard.earlier.thread != hazard.later.thread; }
  [[nodiscard]] const HostThread& thread_of(const Access& access) const {
    return sites_.places().host_thread(access.thread);
  }
  /// Where the streams, the event, the graphs and the threads were made.
  void add_creations(const KeptHazard& kept, std::vector<report::RelatedOp>& out);
  Nouns nouns(const KeptHazard& kept, const Sides& sides);
  /// By the program: a library of CUDA's may do its work in a stream of its own.
  [[nodiscard]] bool reachable(const Access& access, const StreamLife& stream) const;

  const Marks& marks_;
  SiteReader sites_;
  bool measuring_;
};

report::BufferReport Explainer::buffer_report(const KeptHazard& kept) {
  report::BufferReport out = sites_.buffer(kept.hazard.allocation);
  out.name = kept.memory;
  return out;
}

std::vector<report::RelatedOp> Explainer::related(const KeptHazard& kept) {
  const Hazard& hazard = kept.hazard;
  std::vector<report::RelatedOp> out;
  auto add = [&](ordering::SiteId site, ordering::OpId op, const char* role) {
    if (site == ordering::kNoSite) return;
    out.push_back({.what = role + sites_.what(site),
                   .api = sites_.function(site),
                   .op = static_cast<std::uint64_t>(op),
                   .stack = sites_.stack(site)});
  };
  const ordering::Explanation& why = hazard.explanation;
  if (why.nearest == ordering::NearestEdge::DependentLaunch && why.record != ordering::kNoOp) {
    out.push_back({.what = sites_.action(why.record_site, hazard.later),
                   .api = sites_.function(why.record_site),
                   .op = static_cast<std::uint64_t>(why.record),
                   .stack = sites_.stack(why.record_site)});
  } else {
    add(why.record_site, why.record, "");
  }
  add(why.wait_site, why.wait, "");
  if (hazard.freed != hazard.earlier.site) add(hazard.freed, ordering::kNoOp, "freed by ");
  if (kept.failed) out.push_back(sites_.related(*kept.failed));
  // The stack of a node is that of the call that was captured, or that added it.
  add(hazard.later.launched, hazard.later.op, "the graph launched by ");
  if (hazard.earlier.launched != hazard.later.launched || hazard.earlier.op != hazard.later.op)
    add(hazard.earlier.launched, hazard.earlier.op, "the graph launched by ");
  add_creations(kept, out);
  return out;
}

/// A loop that makes several is one place.
void Explainer::add_creations(const KeptHazard& kept, std::vector<report::RelatedOp>& out) {
  struct Made {
    ordering::SiteId site{};
    std::string name;
  };
  const Hazard& hazard = kept.hazard;
  std::vector<Made> made;
  if (hazard.earlier.on_stream) made.push_back({kept.earlier_stream.created, stream_report(kept.earlier_stream).name});
  if (hazard.later.on_stream) made.push_back({kept.later_stream.created, stream_report(kept.later_stream).name});
  if (hazard.explanation.event != ordering::EventId{}) made.push_back({kept.event.created, event_name(kept.event)});
  const bool two_graphs = kept.earlier_graph != ordering::kNoSite && kept.later_graph != ordering::kNoSite &&
                          kept.earlier_graph != kept.later_graph;
  auto graph_name = [&](const Access& access) {
    return "the graph" + (two_graphs ? " of op #" + std::to_string(static_cast<std::uint64_t>(access.op)) : "");
  };
  made.push_back({kept.earlier_graph, graph_name(hazard.earlier)});
  made.push_back({kept.later_graph, graph_name(hazard.later)});
  if (is_of_two_threads(hazard)) {
    for (const Access* access : {&hazard.earlier, &hazard.later}) {
      const HostThread& thread = thread_of(*access);
      const auto number = static_cast<std::uint32_t>(access->thread);
      made.push_back({thread.created, report::host_thread(number, thread.name, thread.first)});
    }
  }
  for (auto each = made.begin(); each != made.end(); ++each) {
    if (each->site == ordering::kNoSite) continue;
    // Where a library made it by itself there is nothing that a reader could look up.
    const std::vector<report::Frame>& stack = sites_.stack(each->site);
    if (std::all_of(stack.begin(), stack.end(), [](const report::Frame& frame) { return frame.library; })) continue;
    std::string names = each->name;
    for (auto other = each + 1; other != made.end(); ++other) {
      if (other->site != each->site) continue;
      if (other->name != each->name) names += " and " + other->name;
      other->site = ordering::kNoSite;
    }
    out.push_back(
        {.what = names + " created by " + sites_.what(each->site), .api = sites_.function(each->site), .stack = stack});
  }
}

bool Explainer::reachable(const Access& access, const StreamLife& stream) const {
  if (!access.on_stream) return true;
  std::vector<report::Frame> frames;  // the modules will do
  for (const RawFrame& raw : sites_.places().frames(stream.created)) {
    const std::string path = raw.module == kNoModule ? "" : sites_.places().module(raw.module).path;
    frames.push_back({.module = path, .library = is_library_module(path)});
  }
  return calling_library(frames).empty();
}

Nouns Explainer::nouns(const KeptHazard& kept, const Sides& sides) {
  const Hazard& hazard = kept.hazard;
  const auto& [later, earlier, buffer] = sides;
  Nouns out;
  out.framework = submitter_of_both(
      {later.stack, later.kernel, hazard.later.on_stream, reachable(hazard.later, kept.later_stream)},
      {earlier.stack, earlier.kernel, hazard.earlier.on_stream, reachable(hazard.earlier, kept.earlier_stream)});
  const bool framework = out.framework != Framework::None;
  auto place = [&](ordering::SiteId site) { return framework ? python_place(sites_.stack(site)) : sites_.place(site); };
  auto action_at = [&](const Access& access, const report::AccessReport& report, const std::string& action) {
    if (access.launched != ordering::kNoSite) return sites_.what(access.launched) + place(access.launched);
    const bool bare = framework && !report.kernel.empty();
    return (bare ? "kernel " + std::string(plain_name(report.kernel)) : action) + place(access.site);
  };
  auto event_at = [&](ordering::SiteId site, const char* method) {
    return (framework ? event_method(sites_.stack(site), method) : sites_.what(site)) + place(site);
  };
  out.later_actor = later.what;
  out.earlier_actor = earlier.what;
  out.later = sites_.action(hazard.later.site, hazard.later);
  out.later_itself = sites_.is_host_itself(hazard.later.site);
  out.earlier = sites_.action(hazard.earlier.site, hazard.earlier);
  out.later_at = action_at(hazard.later, later, out.later);
  out.earlier_at = action_at(hazard.earlier, earlier, out.earlier);
  out.later_stream = later.stream.name;
  out.earlier_stream = earlier.stream.name;
  out.later_life = kept.later_stream;
  out.earlier_life = kept.earlier_stream;
  out.event = event_name(kept.event);
  out.event_gone = kept.event.number == 0;
  // The event may be of neither half's framework, or of a library's own.
  auto in_reach = [&](ordering::SiteId site) {
    const std::vector<report::Frame>& stack = sites_.stack(site);
    return calling_library(stack).empty() && event_in_reach(out.framework, stack) &&
           event_in_reach(submitter(stack), stack);
  };
  out.record_in_reach = in_reach(hazard.explanation.record_site);
  out.wait_in_reach = in_reach(hazard.explanation.wait_site);
  out.record_at = event_at(hazard.explanation.record_site, "record");
  out.in_wait_stream = framework && is_in_wait_stream(sites_.stack(hazard.explanation.record_site));
  const std::optional<std::uint32_t> runs_on = kept.earlier_stream.device;
  // A program may have several contexts of one device.
  const bool other_device = kept.waited_device && runs_on && *kept.waited_device != *runs_on;
  out.waited_for = other_device ? "device " + std::to_string(*kept.waited_device) : "the current context";
  out.runs_in = other_device ? "device " + std::to_string(*runs_on) : "the context of " + out.earlier_stream;
  out.runs_where = other_device ? "on " + out.runs_in : "in another context";
  const ordering::SiteId wait = hazard.explanation.wait_site;
  if (hazard.explanation.nearest == ordering::NearestEdge::DependentLaunch) {
    out.between = sites_.action(hazard.explanation.record_site, hazard.later);
    out.between_at = out.between + place(hazard.explanation.record_site);
  }
  out.wait_at = hazard.explanation.nearest == ordering::NearestEdge::OtherDevice
                    ? sites_.what(wait) + place(wait)
                    : event_at(wait, hazard.later.on_stream ? wait_method(out.framework) : "synchronize");
  out.freed_at = place(hazard.freed);
  out.memory_of_framework = framework && submitter(buffer.stack) == out.framework;
  out.memory = buffer.memory;
  // One call of a library's works in one stream of the program's: two of them are of two calls, such as those of a
  // loop.
  const auto given = [&](const Access& access, const StreamLife& stream) {
    return access.on_stream && stream.created != ordering::kNoSite && reachable(access, stream);
  };
  if (hazard.later.stream == hazard.earlier.stream || !given(hazard.later, kept.later_stream) ||
      !given(hazard.earlier, kept.earlier_stream))
    out.inside = library_of_both(later.stack, earlier.stack);
  if (!kept.memory.empty()) out.memory += " \"" + kept.memory + "\"";
  if (kept.failed) out.failed = sites_.failure(*kept.failed);
  out.unseen = sites_.places().at(hazard.later.site).kind == SiteKind::Unseen;
  out.measuring = measuring_;
  // A driver API program has no run-time function in its stacks; one without stacks is taken for the usual kind.
  bool any_stack = !later.stack.empty() || !earlier.stack.empty();
  out.runtime = !any_stack || !runtime_call(later.stack).empty() || !runtime_call(earlier.stack).empty();
  return out;
}

Explainer::Sides Explainer::sides(const KeptHazard& kept) {
  return {.later = sites_.access(kept.hazard.later, kept.later_stream),
          .earlier = sites_.access(kept.hazard.earlier, kept.earlier_stream),
          .buffer = buffer_report(kept)};
}

namespace {

/// An array has no address that anybody knows: its bytes are counted from its first.
void count_from(report::Finding& finding, std::uint64_t first) {
  const auto shift = [first](std::uint64_t& address) { address = address < first ? 0 : address - first; };
  shift(finding.overlap_begin);
  shift(finding.overlap_end);
  if (finding.overlap) shift(finding.overlap->end);
  for (report::AccessReport& access : finding.accesses) {
    shift(access.begin);
    shift(access.end);
  }
}

}  // namespace

report::Finding Explainer::finding(const KeptHazard& kept) {
  const Hazard& hazard = kept.hazard;
  Sides both = sides(kept);
  const Nouns words = nouns(kept, both);
  report::Finding out;
  both.later.mark = marks_.name(kept.later_part);
  both.earlier.mark = marks_.name(kept.earlier_part);
  out.accesses = {std::move(both.later), std::move(both.earlier)};
  out.buffer = std::move(both.buffer);
  out.severity = severity_of(hazard);
  switch (hazard.kind) {
    case ordering::HazardKind::ReadAfterWrite:
    case ordering::HazardKind::WriteAfterRead:
    case ordering::HazardKind::WriteAfterWrite:
      out.kind = hazard.earlier.source == AccessSource::Host || hazard.later.source == AccessSource::Host
                     ? report::Kind::HostRace
                     : report::Kind::Race;
      break;
    case ordering::HazardKind::UseBeforeAllocate:
    case ordering::HazardKind::UseAfterFree:
    case ordering::HazardKind::FreeWhileInUse:
    case ordering::HazardKind::ReleaseWhileInUse:
    case ordering::HazardKind::ReuseWhileInUse:
      out.kind = report::Kind::PrematureFree;
      break;
  }
  out.hazard = hazard_of(hazard);
  out.cause = cause_of(hazard.explanation.nearest);
  if (hazard.order == ordering::Order::Latent && hazard.leaned_on) out.rule = ordering::rule_id(*hazard.leaned_on);
  out.tests = kept.tests.names(marks_);

  out.overlap_begin = hazard.overlap.begin;
  out.overlap_end = hazard.overlap.end;
  if (const ordering::CommonBytes& all = hazard.common; all.runs > 1) {
    out.overlap_begin = all.hull.begin;
    out.overlap = {.bytes = all.bytes,
                   .runs = all.runs,
                   .width = all.width,
                   .pitch = all.pitch,
                   .end = all.hull.end,
                   .more = all.more};
    out.overlap_end = out.overlap_begin + all.first;
  } else if (all.runs == 1) {
    out.overlap_begin = all.hull.begin;
    out.overlap_end = all.hull.end;
  }
  out.related = related(kept);

  out.message = message(hazard, words);
  out.explanation = explanation(hazard, words);
  out.fix = fix(hazard, words);
  Fingerprint print;
  print.add(out.hazard.text());
  sites_.add_to(print, hazard.later.site);
  sites_.add_to(print, hazard.earlier.site);
  out.fingerprint = print.text();
  out.count = kept.count;
  out.weaker = kept.weaker;
  out.passed_on = hazard.perhaps_passed_on;
  if (hazard.allocation.kind == ordering::MemoryKind::Array) count_from(out, hazard.allocation.range.begin);
  return out;
}

std::string Explainer::repeat_key(const KeptHazard& kept) const {
  const Hazard& hazard = kept.hazard;
  Fingerprint print;
  // A kernel that reads and writes may be one race as the one and another as the other.
  const bool race = hazard.kind == ordering::HazardKind::ReadAfterWrite ||
                    hazard.kind == ordering::HazardKind::WriteAfterRead ||
                    hazard.kind == ordering::HazardKind::WriteAfterWrite;
  print.add(race ? "race" : report::name(hazard_of(hazard)));
  sites_.add_to(print, hazard.later.site);
  sites_.add_to(print, hazard.earlier.site);
  return print.text();
}

/// The worst one's words about the places that enclose all of them. A way out that is one for a single hazard only, as
/// another buffer, is not named.
std::string Explainer::fix_of_group(const KeptHazard& worst, std::span<const KeptHazard* const> hazards,
                                    const MissingEdge& edge) {
  KeptHazard all = worst;
  all.hazard.kind = ordering::HazardKind::ReadAfterWrite;
  all.hazard.allocation.kind = ordering::MemoryKind::Device;
  all.hazard.earlier = hazards[edge.last_earlier]->hazard.earlier;
  all.hazard.later = hazards[edge.first_later]->hazard.later;
  Nouns words = nouns(all, sides(all));
  // Calls that are made inside of one function of the program's have one place: the number tells which is meant.
  const auto is_one_of_several = [&](Access Hazard::* side) {
    const Access& named = all.hazard.*side;
    return std::ranges::any_of(edge.repairs, [&](std::size_t i) {
      const Access& other = hazards[i]->hazard.*side;
      return other.op != named.op && sites_.place(other.site) == sites_.place(named.site);
    });
  };
  if (is_one_of_several(&Hazard::earlier)) words.earlier_at += op(all.hazard.earlier);
  if (is_one_of_several(&Hazard::later)) words.later_at += op(all.hazard.later);
  return fix(all.hazard, words);
}

}  // namespace

report::Severity severity_of(const Hazard& hazard) {
  if (hazard.certainty == ordering::Certainty::Possible) return report::Severity::Possible;
  // A release alone does no harm yet.
  const bool latent = hazard.order == ordering::Order::Latent || hazard.kind == ordering::HazardKind::ReleaseWhileInUse;
  return latent ? report::Severity::Latent : report::Severity::Error;
}

namespace {

void add_tests(report::Finding& finding, const std::vector<std::string>& tests) {
  for (const std::string& test : tests) {
    if (std::find(finding.tests.begin(), finding.tests.end(), test) == finding.tests.end())
      finding.tests.push_back(test);
  }
}

}  // namespace

bool FoldedFindings::add(report::Finding finding) {
  auto [it, fresh] = known_.try_emplace({finding.fingerprint, finding.severity}, findings_.size());
  if (fresh) {
    findings_.push_back(std::move(finding));
  } else {
    report::Finding& known = findings_[it->second];
    known.count += finding.count;
    known.weaker += finding.weaker;
    add_tests(known, finding.tests);
  }
  return fresh;
}

namespace {

void fold_into(report::Finding& stronger, const report::Finding& weaker) {
  stronger.weaker += weaker.count + weaker.weaker;
  add_tests(stronger, weaker.tests);
}

/// A finding, and the first hazard that it was made of.
struct FirstSeen {
  report::Finding finding;
  const KeptHazard* first = nullptr;
};

/// Without those that are less severe than another of the same two places.
void fold_repeats(std::vector<FirstSeen>& all, const Explainer& explainer) {
  std::map<std::string, std::size_t> worst;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [it, fresh] = worst.try_emplace(keys.emplace_back(explainer.repeat_key(*all[i].first)), i);
    if (!fresh && all[i].finding.severity < all[it->second].finding.severity) it->second = i;
  }
  std::vector<FirstSeen> out;
  std::vector<std::size_t> stays;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t stronger = worst.at(keys[i]);
    if (all[i].finding.severity > all[stronger].finding.severity) {
      fold_into(all[stronger].finding, all[i].finding);
    } else {
      stays.push_back(i);
    }
  }
  for (const std::size_t i : stays) out.push_back(std::move(all[i]));
  all = std::move(out);
}

void group(std::vector<FirstSeen>& all, Explainer& explainer) {
  std::vector<const KeptHazard*> hazards;
  for (const FirstSeen& each : all) hazards.push_back(each.first);
  for (const MissingEdge& edge : missing_edges(hazards)) {
    const std::size_t worst = *std::min_element(edge.repairs.begin(), edge.repairs.end(), [&](auto a, auto b) {
      return all[a].finding.severity < all[b].finding.severity;
    });
    const std::string fix = explainer.fix_of_group(*hazards[worst], hazards, edge);
    for (const std::size_t i : edge.repairs) {
      all[i].finding.group = all[worst].finding.fingerprint;
      all[i].finding.fix = fix;
    }
  }
}

}  // namespace

std::vector<report::Finding> explain(std::span<const KeptHazard> hazards, const Marks& marks, const Places& places,
                                     Symbolizer& symbolizer, bool measuring) {
  Explainer explainer(marks, places, symbolizer, measuring);
  for (const KeptHazard& kept : hazards) {
    if (kept.stands()) explainer.want(kept);
  }
  FoldedFindings folded;
  std::vector<FirstSeen> seen;
  for (const KeptHazard& kept : hazards) {
    if (kept.stands() && folded.add(explainer.finding(kept))) seen.push_back({.finding = {}, .first = &kept});
  }
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i].finding = std::move(folded.all()[i]);
  fold_repeats(seen, explainer);
  group(seen, explainer);
  std::vector<report::Finding> out;
  for (FirstSeen& each : seen) out.push_back(std::move(each.finding));
  return out;
}

}  // namespace streamsan::judge
