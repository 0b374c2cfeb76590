// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/trace_judge.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <system_error>

#include "cli/liveness.h"
#include "cli/outputs.h"
#include "cli/sync_judge.h"
#include "judge/explain.h"
#include "judge/hazards.h"
#include "judge/hints.h"
#include "judge/judge.h"
#include "judge/timeline.h"
#include "judge/times.h"
#include "report/text.h"
#include "trace/reader.h"

namespace streamsan::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kLookEvery = 1 << 14;  // records between two looks at stop and progress
constexpr milliseconds kLongestNap{20};
constexpr std::uint32_t kEventTimesSince = 4;  // trace format that tells EventTime

std::string cut(const char* text, std::size_t size) { return {text, std::find(text, text + size, '\0')}; }

/// "./train --steps 3"
std::string command_line(const trace::FileHeader& header) {
  std::string out(header.command_line, sizeof header.command_line);
  out.erase(out.find_last_not_of('\0') + 1);
  std::ranges::replace(out, '\0', ' ');
  return out;
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

/// Options of the judge ask about what only the recorder with the same options writes. Old recorders do not tell.
void describe_recording(const trace::FileHeader& header, const Options& options, Verdict& verdict) {
  if (options.syncs && trace::recorded_without(header.recorded_with, trace::kWithSyncs)) {
    verdict.warnings.emplace_back(
        "recorded without the option syncs: whether the host looked at a clock after a wait, or left alone the memory "
        "it had waited for, is not in the trace (to record it: streamsan run --syncs --keep_trace -- PROGRAM)");
  }
  if (options.timings && trace::recorded_without(header.recorded_with, trace::kWithTimings)) {
    verdict.warnings.emplace_back(
        "recorded without the option timings: when operations ran on the GPU is not in the trace (to record it: "
        "streamsan run --timings --keep_trace -- PROGRAM)");
  }
}

/// Calls that had begun and not returned. After a normal end, or an _exit, they are no news: some thread always waits
/// for something. `violent`: the process was killed, or nobody knows how it ended.
void describe_unfinished(const trace::Reader& reader, bool violent, Verdict& verdict) {
  if (!reader.unpublished()) return;
  std::string text = report::counted(reader.unpublished(), "call") + (reader.unpublished() == 1 ? " was" : " were") +
                     " in progress when the trace ended";
  (violent ? verdict.warnings : verdict.notes).push_back(std::move(text));
}

/// What the reader and the recorder have to say about the trace, once it has been read.
void describe_trace(const trace::Reader& reader, bool violent, Verdict& verdict) {
  using trace::End;
  std::string records = std::to_string(reader.position()) + " slots";
  switch (reader.end()) {
    case End::NoSpace:
      verdict.warnings.push_back("recording stopped after " + records + ": " +
                                 std::generic_category().message(static_cast<int>(reader.header().end_errno.load())) +
                                 "; later calls were not checked (trace_dir=DIR puts the trace elsewhere)");
      break;
    case End::TooLong:
      verdict.warnings.push_back("recording stopped after " + records + ": the trace is full");
      break;
    case End::Internal:
      verdict.warnings.push_back("the recorder switched itself off after " + records +
                                 "; later calls were not checked");
      break;
    case End::Running:
      describe_unfinished(reader, violent, verdict);
      break;
    case End::Exited:
      describe_unfinished(reader, false, verdict);
      break;
  }
  verdict.damage = damage_of(reader);
}

class Watch {
 public:
  Watch(const TraceControl& control, const Options& options, judge::Judge& judge, judge::Hazards& hazards,
        judge::Symbolizer& symbolizer)
      : control_(control),
        halt_(options.halt_on_error && control.on_error),
        judge_(judge),
        hazards_(hazards),
        symbolizer_(symbolizer) {}

  void after_record(std::uint32_t pid) {
    if (!halt_ || hazards_.kept().size() == seen_) return;
    for (; seen_ < hazards_.kept().size(); ++seen_) {
      const judge::KeptHazard& kept = hazards_.kept()[seen_];
      if (judge::severity_of(kept.hazard) != report::Severity::Error) continue;
      for (report::Finding& finding : judge::explain(std::span(&kept, 1), judge_.places(), symbolizer_)) {
        control_.on_error(pid, finding);
      }
    }
  }

 private:
  const TraceControl& control_;
  bool halt_;
  judge::Judge& judge_;
  judge::Hazards& hazards_;
  judge::Symbolizer& symbolizer_;
  std::size_t seen_ = 0;
};

void judge_into(Verdict& verdict, const std::string& path, const Options& options, const TraceControl& control) {
  std::string error;
  auto reader = trace::Reader::open(path, {.live = control.live, .consume = control.consume}, error);
  if (!reader) {
    verdict.damage = "cannot read it: " + error;
    return;
  }
  const trace::FileHeader& header = reader->header();
  verdict.pid = header.pid;
  verdict.processes = 1;
  verdict.program = cut(header.executable, sizeof header.executable);

  ordering::Options model_options;
  if (choice<HostThreads>(options.host_threads) == HostThreads::Separate)
    model_options.host_threads = ordering::Options::HostThreads::Separate;
  judge::Hazards hazards(options.max_findings);
  judge::Judge judge(model_options, hazards);
  hazards.take_names_from(judge.handles());
  judge::Times times(judge);
  if (options.timings) judge.add_observer(times);
  judge.code().enable(options.kernel_code, header.start_time_ns);
  const auto measuring = [&] {
    return header.footprints.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(trace::Footprints::Measured);
  };
  std::optional<judge::Timeline> timeline;
  if (wants_views(options)) judge.add_observer(timeline.emplace(judge, hazards));
  if (control.live) {
    judge.ask_through([&](std::uint64_t function_id) {
      if (measuring()) reader->ask(function_id);
    });
  }
  std::optional<judge::Hints> hints;
  if (options.hints) judge.add_observer(hints.emplace(judge, header.version >= kEventTimesSince));
  judge::Symbolizer symbolizer({.enabled = options.symbolize, .tool = options.external_symbolizer_path});
  Watch watch(control, options, judge, hazards, symbolizer);
  std::optional<Liveness> liveness;
  if (control.live) liveness.emplace(header.pid, path);

  SyncNotes sync_notes;
  milliseconds nap{1};
  std::uint64_t records = 0;
  bool stopped = false;
  trace::Item item;
  while (!stopped) {
    trace::Step step = reader->next(item);
    if (step == trace::Step::End) break;
    if (step == trace::Step::Record) {
      nap = milliseconds{1};
      judge.consume(item);
      if (options.syncs) sync_notes.see(item);
      watch.after_record(header.pid);
      if (++records % kLookEvery != 0) continue;
      stopped = control.stop && *control.stop;
      if (control.progress) control.progress(reader->position(), reader->reserved());
      if (control.measuring) control.measuring(Measuring::of(header));
      continue;
    }
    stopped = control.stop && *control.stop;
    if (control.measuring) control.measuring(Measuring::of(header));
    // Everything written before the end of the process is read after we know of the end: see trace/reader.h.
    if (liveness->ended_within(nap) || (control.no_wait && *control.no_wait)) reader->finish();
    nap = std::min(nap * 2, kLongestNap);
  }

  times.finish();
  verdict.costs = times.text();
  verdict.operations = judge.model().statistics().operations;
  verdict.measuring = Measuring::of(header);
  hazards.name_devices();
  verdict.findings = judge::explain(hazards.kept(), judge.places(), symbolizer, measuring());
  const bool whole_run = reader->end() == trace::End::Exited && !reader->removed() && !stopped;
  for (report::Finding& finding : judge::explain(judge.event_misuse(), hazards.kept(), judge.failed_calls(),
                                                 judge.places(), symbolizer, whole_run)) {
    verdict.findings.push_back(std::move(finding));
  }
  // Of a trace that lacks its beginning nobody knows which memory is pinned.
  if (hints && !reader->removed()) {
    judge::Hinted hinted = hints->explain(symbolizer, whole_run);
    for (report::Finding& finding : hinted.findings) verdict.findings.push_back(std::move(finding));
    if (!hinted.in_libraries.empty()) verdict.notes.push_back(std::move(hinted.in_libraries));
  }
  std::string sync_problem;
  if (options.syncs && !stopped) {
    sync_problem = judge_syncs(verdict, path, options, control, *reader, std::move(sync_notes), symbolizer);
  }
  for (report::Finding& finding : verdict.findings) finding.pid = verdict.pid;
  verdict.warnings = judge.messages();
  if (!judge.unmodelled().empty()) {
    verdict.warnings.push_back("not modelled by this version: " + join(judge.unmodelled()));
  }
  if (!judge.hidden_order().empty()) {
    std::string text =
        "the order made by " + judge.hidden_order() + " is not seen: findings from there on are at most possible";
    (verdict.findings.empty() ? verdict.notes : verdict.warnings).push_back(std::move(text));
  }
  if (!control.live) describe_recording(header, options, verdict);  // the launcher has said what it cannot record
  describe_trace(*reader, !liveness || liveness->killed(), verdict);
  if (stopped) verdict.warnings.push_back("interrupted: the rest of the trace was not judged");
  if (!sync_problem.empty()) verdict.warnings.push_back("synchronisation was not judged: " + sync_problem);
  // After the syncs: what their findings name is to be kept.
  if (timeline) {
    verdict.view = timeline->view(verdict.findings, symbolizer);
    verdict.view->pid = verdict.pid;
    verdict.view->program = verdict.program;
    verdict.view->command = command_line(header);
  }
  if (hazards.dropped()) {
    verdict.warnings.push_back(std::to_string(hazards.dropped()) + " more findings were counted only (max_findings=" +
                               std::to_string(options.max_findings) + ")");
  }
  if (!verdict.findings.empty() && !symbolizer.problem().empty()) verdict.warnings.push_back(symbolizer.problem());
  // Of no interest when only findings that nobody is shown have lost their lines.
  bool shown = choice<report::Severity>(options.min_severity) >= report::Severity::Possible ||
               std::any_of(verdict.findings.begin(), verdict.findings.end(),
                           [](const report::Finding& f) { return f.severity <= report::Severity::Latent; });
  for (const std::string& warning : symbolizer.warnings()) {
    (shown ? verdict.warnings : verdict.notes).push_back(warning);
  }
  if (std::string failed = judge.failed_calls().summary(); !failed.empty()) verdict.notes.push_back(std::move(failed));
  if (std::uint64_t refuted = hazards.refuted()) {
    verdict.notes.push_back(report::counted(refuted, "possible finding") + (refuted == 1 ? " was" : " were") +
                            " dropped: the kernels were measured later and did not meet again");
  }
  if (std::uint64_t forgotten = judge.model().statistics().forgotten) {
    verdict.notes.push_back(std::to_string(forgotten) +
                            " remembered accesses were dropped to bound memory: a race with "
                            "one of them would be missed");
  }
}

}  // namespace

std::string damage_of(const trace::Reader& reader) {
  if (!reader.problem().empty()) return reader.problem();
  if (!reader.removed()) return {};
  return std::to_string(reader.removed()) +
         " slots at the start of the trace had been removed by the judge that read it live; findings may be missing";
}

Verdict judge_trace(const std::string& path, const Options& options, const TraceControl& control) {
  Verdict verdict;
  verdict.trace = path;
  try {
    judge_into(verdict, path, options, control);
  } catch (const std::exception& failure) {
    // Out of memory, most likely. The program under test must not suffer from it.
    verdict.damage = std::string("judging it failed: ") + failure.what();
  }
  return verdict;
}

}  // namespace streamsan::cli
