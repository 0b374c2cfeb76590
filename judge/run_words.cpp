// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/run_words.h"

#include <algorithm>
#include <system_error>

#include "judge/hazards.h"
#include "judge/judge.h"
#include "judge/symbolizer.h"
#include "report/text.h"

namespace streamsan::judge {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

/// Calls that had begun and not returned. After a normal end, or an _exit, they are no news: some thread always waits
/// for something.
void describe_unfinished(const trace::Reader& reader, bool violent, Verdict& verdict) {
  if (!reader.unpublished()) return;
  std::string text = report::counted(reader.unpublished(), "call") + (reader.unpublished() == 1 ? " was" : " were") +
                     " in progress when the trace ended";
  (violent ? verdict.warnings : verdict.notes).push_back(std::move(text));
}

}  // namespace

void describe_unseen(const Judge& judge, Verdict& verdict) {
  verdict.warnings = judge.messages();
  if (!judge.unmodelled().empty()) {
    verdict.warnings.push_back("not modelled by this version: " + join(judge.unmodelled()));
  }
  if (const std::uint64_t graphs = judge.graphs_of_kernels()) {
    verdict.warnings.push_back(
        report::counted(graphs, "graph") + (graphs == 1 ? " was" : " were") +
        " made for launches from the device, too: those are not seen, and races with them missed");
  }
  if (!judge.ended_by().empty()) {
    verdict.warnings.push_back(judge.ended_by() +
                               ", which ends all work of its context: nothing was checked from there on");
  }
  if (!judge.hidden_order().empty()) {
    std::string text =
        "the order made by " + judge.hidden_order() + " is not seen: findings from there on are at most possible";
    (verdict.findings.empty() ? verdict.notes : verdict.warnings).push_back(std::move(text));
  }
}

void describe_recording(const trace::FileHeader& header, const RunOptions& options, Verdict& verdict) {
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

void describe_findings(const Judge& judge, const Hazards& hazards, const Symbolizer& symbolizer,
                       const RunOptions& options, Verdict& verdict) {
  if (hazards.dropped()) {
    verdict.warnings.push_back(std::to_string(hazards.dropped()) + " more findings were counted only (max_findings=" +
                               std::to_string(options.max_findings) + ")");
  }
  if (!verdict.findings.empty() && !symbolizer.problem().empty()) verdict.warnings.push_back(symbolizer.problem());
  // Of no interest when only findings that nobody is shown have lost their lines.
  const bool shown = options.shows_possible ||
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

std::string damage_of(const trace::Reader& reader) {
  if (!reader.problem().empty()) return reader.problem();
  if (!reader.removed()) return {};
  return std::to_string(reader.removed()) +
         " slots at the start of the trace had been removed by the judge that read it live; findings may be missing";
}

}  // namespace streamsan::judge
