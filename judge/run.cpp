// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/run.h"

#include <algorithm>
#include <span>

#include "judge/explain.h"
#include "judge/hazards.h"
#include "judge/hints.h"
#include "judge/judge.h"
#include "judge/run_syncs.h"
#include "judge/run_words.h"
#include "judge/symbolizer.h"
#include "judge/timeline.h"
#include "judge/times.h"

namespace streamsan::judge {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kLookEvery = 1 << 14;  // records between two looks at the sinks
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

/// One trace with all that looks at its records.
class Run {
 public:
  Run(trace::Reader& reader, const RunOptions& options, const Sinks& sinks, Verdict& verdict)
      : reader_(reader),
        header_(reader.header()),
        options_(options),
        sinks_(sinks),
        verdict_(verdict),
        hazards_(options.max_findings),
        judge_(model_options(options, reader.header()), hazards_),
        times_(judge_),
        symbolizer_({.enabled = options.symbolize, .tool = options.symbolizer}) {
    hazards_.take_names_from(judge_.handles());
    judge_.code().enable(options.kernel_code, header_.start_time_ns);
    if (options.timings) judge_.add_observer(times_);
    if (options.view) judge_.add_observer(timeline_.emplace(judge_, hazards_));
    if (options.hints) judge_.add_observer(hints_.emplace(judge_, header_.version >= kEventTimesSince));
    if (is_live()) {
      judge_.ask_through([this](std::uint64_t function_id) {
        if (is_measured()) reader_.ask(function_id);
      });
    }
    verdict_.pid = header_.pid;
    verdict_.program = cut(header_.executable, sizeof header_.executable);
  }

  void read() {
    milliseconds nap{1};
    std::uint64_t records = 0;
    trace::Item item;
    while (!stopped_) {
      const trace::Step step = reader_.next(item);
      if (step == trace::Step::End) break;
      if (step == trace::Step::Record) {
        nap = milliseconds{1};
        take(item);
        if (++records % kLookEvery == 0) look();
        continue;
      }
      look();
      // Everything written before the end of the process is read after we know of the end: see trace/reader.h.
      if (sinks_.wait(nap)) reader_.finish();
      nap = std::min(nap * 2, kLongestNap);
    }
  }

  void explain() {
    times_.finish();
    verdict_.costs = times_.text();
    verdict_.operations = judge_.model().statistics().operations;
    hazards_.name_devices();
    add(found());
    const Judge::DeviceWaits waits = stopped_ ? Judge::DeviceWaits{} : judge_.device_waits();
    verdict_.device_waits = waits.calls;
    verdict_.idle_device_waits = waits.idle;
    if (!stopped_) verdict_.measured_launches = judge_.measured_launches().all(hazards_);
    const bool whole_run = reader_.end() == trace::End::Exited && !reader_.removed() && !stopped_;
    add(judge::explain(judge_.event_misuse(), hazards_.kept(), judge_.failed_calls(), judge_.places(), symbolizer_,
                       whole_run));
    // Of a trace that lacks its beginning nobody knows which memory is pinned.
    if (hints_ && !reader_.removed()) {
      Hinted hinted = hints_->explain(symbolizer_, whole_run);
      add(std::move(hinted.findings));
      if (!hinted.in_libraries.empty()) verdict_.notes.push_back(std::move(hinted.in_libraries));
    }
    if (options_.syncs && !stopped_) {
      sync_problem_ = judge_syncs(verdict_, options_, sinks_, reader_, std::move(sync_notes_), symbolizer_);
    }
    for (report::Finding& finding : verdict_.findings) finding.pid = verdict_.pid;
  }

  void describe() {
    describe_unseen(judge_, verdict_);
    if (!is_live()) describe_recording(header_, options_, verdict_);  // who recorded has said what it cannot record
    describe_trace(reader_, !is_live() || sinks_.killed(), verdict_);
    if (stopped_) verdict_.warnings.push_back("interrupted: the rest of the trace was not judged");
    if (!sync_problem_.empty()) verdict_.warnings.push_back("synchronisation was not judged: " + sync_problem_);
    // After the syncs: what their findings name is to be kept.
    if (timeline_) {
      verdict_.view = timeline_->view(verdict_.findings, symbolizer_);
      verdict_.view->pid = verdict_.pid;
      verdict_.view->program = verdict_.program;
      verdict_.view->command = command_line(header_);
    }
    describe_findings(judge_, hazards_, symbolizer_, options_, verdict_);
  }

 private:
  /// Order between host threads counts as seen only if the recorder has looked for it; else threads are joined.
  static ordering::Options model_options(const RunOptions& options, const trace::FileHeader& header) {
    using enum ordering::Options::HostThreads;
    const bool sees = options.host_threads == Seen || options.host_threads == Strict;
    const bool unseen = sees && (header.recorded_with & trace::kWithThreads) == 0;
    return {unseen ? Joined : options.host_threads};
  }

  /// What has been found so far and does not depend on what is still to come, but for possible ones.
  std::vector<report::Finding> found() {
    std::vector<report::Finding> out =
        judge::explain(hazards_.kept(), hazards_.marks(), judge_.places(), symbolizer_, is_measured());
    std::ranges::move(judge_.hidden_syncs().explain(judge_.places(), symbolizer_, hazards_.marks()),
                      std::back_inserter(out));
    return out;
  }

  void answer(std::uint64_t number) {
    hazards_.name_devices();
    std::vector<report::Finding> findings = found();
    for (report::Finding& finding : findings) finding.pid = verdict_.pid;
    sinks_.answer(number, std::move(findings));
  }

  [[nodiscard]] bool is_live() const { return static_cast<bool>(sinks_.wait); }
  /// Are launches measured at present?
  [[nodiscard]] bool is_measured() const {
    return header_.footprints.load(std::memory_order_relaxed) ==
           static_cast<std::uint32_t>(trace::Footprints::Measured);
  }

  void take(const trace::Item& item) {
    judge_.consume(item);
    if (options_.syncs) sync_notes_.see(item);
    if (sinks_.error) tell_errors();
    if (item.record->kind == trace::Kind::Ask && sinks_.answer) answer(item.record->as<trace::Kind::Ask>().number);
  }

  void tell_errors() {
    for (; delivered_ < hazards_.kept().size(); ++delivered_) {
      const KeptHazard& kept = hazards_.kept()[delivered_];
      if (severity_of(kept.hazard) != report::Severity::Error) continue;
      for (report::Finding& finding :
           judge::explain(std::span(&kept, 1), hazards_.marks(), judge_.places(), symbolizer_)) {
        sinks_.error(finding);
      }
    }
  }

  void look() {
    stopped_ = sinks_.stop && sinks_.stop();
    if (sinks_.progress) sinks_.progress(reader_);
  }

  void add(std::vector<report::Finding> findings) {
    std::ranges::move(findings, std::back_inserter(verdict_.findings));
  }

  trace::Reader& reader_;
  const trace::FileHeader& header_;
  const RunOptions& options_;
  const Sinks& sinks_;
  Verdict& verdict_;
  Hazards hazards_;
  Judge judge_;
  Times times_;
  std::optional<Timeline> timeline_;
  std::optional<Hints> hints_;
  Symbolizer symbolizer_;
  SyncNotes sync_notes_;
  std::string sync_problem_;
  std::size_t delivered_ = 0;  ///< hazards that went to the sink for errors, or were none
  bool stopped_ = false;
};

}  // namespace

void run(trace::Reader& reader, const RunOptions& options, const Sinks& sinks, Verdict& verdict) {
  Run all(reader, options, sinks, verdict);
  all.read();
  all.explain();
  all.describe();
}

}  // namespace streamsan::judge
