// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The findings of event_misuse.h in words.
#include <set>

#include "judge/explain.h"
#include "judge/frames.h"
#include "judge/framework.h"
#include "judge/site_reader.h"

namespace streamsan::judge {
namespace {

using report::Severity;

report::Hazard hazard_of(MisuseKind kind) {
  switch (kind) {
    case MisuseKind::NeverRecorded:
      return report::Hazard::EventNeverRecorded;
    case MisuseKind::WaitedTooEarly:
      return report::Hazard::EventWaitedTooEarly;
    case MisuseKind::RecordLost:
      return report::Hazard::EventRecordLost;
    case MisuseKind::RecordedTooEarly:
      return report::Hazard::EventRecordedTooEarly;
  }
  return report::Hazard::EventNeverRecorded;
}

std::string op(const EventUse& use) {
  return use.op == ordering::kNoOp ? "" : " (op #" + std::to_string(static_cast<std::uint64_t>(use.op)) + ")";
}

/// The call that would record the event, in the words of the program that waits for it.
std::string record_of(const std::string& event, const std::vector<report::Frame>& wait) {
  const Framework framework = submitter(wait);
  if (framework != Framework::None && event_in_reach(framework, wait)) {
    return "event.record(stream), where event is " + event + ",";
  }
  return (runtime_call(wait).empty() ? "cuEventRecord(" : "cudaEventRecord(") + event + ", stream)";
}

class MisuseExplainer {
 public:
  MisuseExplainer(const FailedCalls& failed_calls, const Places& places, Symbolizer& symbolizer, bool whole_run)
      : failed_calls_(failed_calls), sites_(places, symbolizer), whole_run_(whole_run) {}

  void want(const Misuse& misuse) {
    for (const EventUse* use : {&misuse.wait, &misuse.record, &misuse.lost}) sites_.want(use->site);
    if (const FailedCall* failed = failed_calls_.record_of(misuse.event_id)) sites_.want(failed->site);
  }

  report::Finding finding(const Misuse& misuse);

 private:
  void tell(const Misuse& misuse, report::Finding& out);
  report::RelatedOp related(const EventUse& use, const StreamLife& stream);
  std::string at(const EventUse& use, bool records = false);

  const FailedCalls& failed_calls_;
  SiteReader sites_;
  bool whole_run_;
};

report::RelatedOp MisuseExplainer::related(const EventUse& use, const StreamLife& stream) {
  return {.what = sites_.what(use.site),
          .api = sites_.function(use.site),
          .stream = use.by_host ? report::Stream{.name = "the host"} : stream_report(stream),
          .op = static_cast<std::uint64_t>(use.op),
          .stack = sites_.stack(use.site)};
}

std::string MisuseExplainer::at(const EventUse& use, bool records) {
  const std::vector<report::Frame>& stack = sites_.stack(use.site);
  const Framework framework = submitter(stack);
  // What PyTorch does with events of its own has no method that the program calls.
  if (framework == Framework::None || !event_in_reach(framework, stack)) {
    return sites_.what(use.site) + sites_.place(use.site);
  }
  const char* waits = use.by_host ? "synchronize" : wait_method(framework);
  return event_method(stack, records ? "record" : waits) + python_place(stack);
}

void MisuseExplainer::tell(const Misuse& misuse, report::Finding& out) {
  const std::string event = event_name(misuse.event);
  const std::string waiter = misuse.wait.by_host ? "the host" : stream_report(misuse.wait_stream).name;
  const std::string recorder = stream_report(misuse.record_stream).name;
  const std::string loser = stream_report(misuse.lost_stream).name;
  const std::string wait_at = at(misuse.wait);
  switch (misuse.kind) {
    case MisuseKind::NeverRecorded: {
      out.message = waiter + " waits for " + event + ", which is never recorded.";
      out.explanation = "a wait for an event that was never recorded does nothing.";
      const FailedCall* failed = failed_calls_.record_of(misuse.event_id);
      if (failed) {
        const FailureNouns words = sites_.failure(*failed);
        out.explanation += " " + failure(words);
        out.fix = failure_fix(words);
        out.related.push_back(sites_.related(*failed));
        return;
      }
      out.fix = "call " + record_of(event, sites_.stack(misuse.wait.site)) + " after the work that " + waiter +
                " is to wait for and before " + wait_at + ", or remove the wait.";
      return;
    }
    case MisuseKind::WaitedTooEarly:
      out.message = waiter + " waits for " + event + " before its first record.";
      out.explanation = "the wait" + op(misuse.wait) + " does nothing, " + event + " is recorded later" +
                        op(misuse.record) + ". In the first turn of a loop this is common and correct.";
      out.fix = "if the wait is to cover that record, call " + at(misuse.record, true) + " before " + wait_at + ".";
      return;
    case MisuseKind::RecordLost:
      out.message = event + " is recorded in " + loser + " and then in " + recorder + ", and only then waited for.";
      out.explanation = "a new record replaces the previous one: " + waiter + " waits for what " + recorder + " held" +
                        op(misuse.record) + ", and not for what " + loser + " held" + op(misuse.lost) + ".";
      out.fix = "use an event for each stream, or wait for " + event + " before " + at(misuse.record, true) + ".";
      return;
    case MisuseKind::RecordedTooEarly:
      out.message = event + " is recorded in " + recorder + " before any work is in it.";
      out.explanation = recorder + " was empty when " + event + " was recorded" + op(misuse.record) +
                        " and was given work before " + waiter + " waits" + op(misuse.wait) +
                        ": the wait covers none of it.";
      out.fix = "move " + at(misuse.record, true) + " behind the work in " + recorder + " that " + waiter +
                " is to wait for.";
      return;
  }
}

report::Finding MisuseExplainer::finding(const Misuse& misuse) {
  report::Finding out;
  out.kind = report::Kind::EventMisuse;
  const bool certain = misuse.kind == MisuseKind::NeverRecorded && !misuse.place_is_useful && whole_run_;
  // What a library does inside of itself nobody can mend, and it knows why.
  const bool in_library = !library_call(sites_.stack(misuse.wait.site)).empty();
  out.severity = certain && !in_library ? Severity::Latent : Severity::Note;
  out.hazard = hazard_of(misuse.kind);
  out.cause = report::Word<report::Cause>::of(out.hazard.text());
  out.related.push_back(related(misuse.wait, misuse.wait_stream));
  if (misuse.record.site != ordering::kNoSite) out.related.push_back(related(misuse.record, misuse.record_stream));
  if (misuse.lost.site != ordering::kNoSite) out.related.push_back(related(misuse.lost, misuse.lost_stream));
  tell(misuse, out);
  Fingerprint print;
  print.add(out.hazard.text());
  for (const EventUse* use : {&misuse.wait, &misuse.record, &misuse.lost}) sites_.add_to(print, use->site);
  out.fingerprint = print.text();
  out.count = misuse.count;
  return out;
}

/// The sites of the event calls that explanations of hazards are about.
std::set<ordering::SiteId> reported_sites(std::span<const KeptHazard> hazards) {
  std::set<ordering::SiteId> out;
  for (const KeptHazard& kept : hazards) {
    if (!kept.stands()) continue;
    const ordering::Explanation& why = kept.hazard.explanation;
    if (why.nearest == ordering::NearestEdge::EventNeverRecorded) out.insert(why.wait_site);
    if (why.nearest == ordering::NearestEdge::EventRecordedTooEarly) out.insert(why.record_site);
  }
  return out;
}

}  // namespace

std::vector<report::Finding> explain(std::span<const Misuse> misuses, std::span<const KeptHazard> hazards,
                                     const FailedCalls& failed_calls, const Places& places, Symbolizer& symbolizer,
                                     bool whole_run) {
  MisuseExplainer explainer(failed_calls, places, symbolizer, whole_run);
  const std::set<ordering::SiteId> reported = reported_sites(hazards);
  for (const Misuse& misuse : misuses) explainer.want(misuse);
  FoldedFindings out;
  for (const Misuse& misuse : misuses) {
    const bool about_wait = misuse.kind == MisuseKind::NeverRecorded || misuse.kind == MisuseKind::WaitedTooEarly;
    if (reported.contains(about_wait ? misuse.wait.site : misuse.record.site)) continue;
    out.add(explainer.finding(misuse));
  }
  return out.take();
}

}  // namespace streamsan::judge
