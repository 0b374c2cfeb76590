// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/trace_judge.h"

#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/liveness.h"
#include "cli/outputs.h"
#include "report/json.h"
#include "report/output_file.h"

namespace streamsan::cli {
namespace {

ordering::Options::HostThreads threads_of(HostThreads option) {
  switch (option) {
    case HostThreads::Joined:
      return ordering::Options::HostThreads::Joined;
    case HostThreads::Separate:
      return ordering::Options::HostThreads::Separate;
    case HostThreads::Seen:
      return ordering::Options::HostThreads::Seen;
    case HostThreads::Strict:
      return ordering::Options::HostThreads::Strict;
  }
  return ordering::Options::HostThreads::Seen;
}

judge::RunOptions run_options(const std::string& path, const Options& options) {
  return {.trace = path,
          .max_findings = options.max_findings,
          .host_threads = threads_of(choice<HostThreads>(options.host_threads)),
          .kernel_code = options.kernel_code,
          .hints = options.hints,
          .syncs = options.syncs,
          .timings = options.timings,
          .view = wants_views(options),
          .symbolize = options.symbolize,
          .symbolizer = options.external_symbolizer_path,
          .shows_possible = choice<report::Severity>(options.min_severity) >= report::Severity::Possible};
}

/// The file appears when it is whole. The program that asked waits for it, and gives up by itself if it does not
/// appear.
void write_answer(const std::string& path, const std::vector<report::Finding>& findings) {
  const std::string partial = path + ".part";
  if (!report::write_output(partial, report::json(findings, {})).empty()) return;
  std::error_code ignored;
  std::filesystem::rename(partial, path, ignored);
}

void judge_into(Verdict& verdict, const std::string& path, const Options& options, const TraceControl& control) {
  std::string error;
  const auto reader = trace::Reader::open(path, {.live = control.live, .consume = control.consume}, error);
  if (!reader) {
    verdict.damage = "cannot read it: " + error;
    return;
  }
  const trace::FileHeader& header = reader->header();
  verdict.processes = 1;
  judge::Sinks sinks;
  sinks.stop = [&] { return control.stop && *control.stop; };
  sinks.progress = [&](const trace::Reader& now) {
    if (control.progress) control.progress(now.position(), now.reserved());
    if (control.measuring) control.measuring(Measuring::of(header));
  };
  if (options.halt_on_error && control.on_error) {
    sinks.error = [&](report::Finding& finding) { control.on_error(header.pid, finding); };
  }
  std::optional<Liveness> liveness;
  if (control.live) {
    sinks.answer = [&](std::uint64_t number, std::vector<report::Finding> findings) {
      if (control.suppress) control.suppress(findings);
      write_answer(path + ".answer." + std::to_string(number), findings);
    };
    liveness.emplace(header.pid, path);
    sinks.wait = [&](std::chrono::milliseconds patience) {
      return liveness->ended_within(patience) || (control.no_wait && *control.no_wait);
    };
    sinks.killed = [&] { return liveness->killed(); };
  }
  judge::run(*reader, run_options(path, options), sinks, verdict);
  verdict.measuring = Measuring::of(header);
}

}  // namespace

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
