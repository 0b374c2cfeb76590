// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program around the workers.
//
//   read the compile database -> choose checks -> prepare each source -> run workers -> join their results
//   -> print text in the order of the sources -> SARIF, annotations, baseline, repairs -> summary, exit code
//
// The text of a file is printed whole, as soon as that of all files before it has been. What goes to stdout are
// findings; stderr has progress, problems and the summary.
//
// The summary counts what was looked at as well as what was found, and the exit code is 2 as soon as one file could not
// be analysed: an empty list of findings means nothing without that.
#include "analyzer/tool/driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include "analyzer/models/model.h"
#include "analyzer/tool/baseline.h"
#include "analyzer/tool/preparation.h"
#include "analyzer/tool/repairs.h"
#include "analyzer/tool/sarif.h"
#include "analyzer/tool/scratch.h"
#include "analyzer/tool/summary.h"
#include "analyzer/tool/text_output.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

/// "[3/17] file" on a terminal; nothing elsewhere.
class Progress {
 public:
  Progress(std::size_t total, bool wanted) : total_(total), shown_(wanted && ::isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const std::string& file) {
    if (shown_) {
      std::fprintf(stderr, "\r[%zu/%zu] %s\033[K", ++begun_, total_, shown_path(file).c_str());
      std::fflush(stderr);
    }
  }
  void clear() const {
    if (shown_ && begun_ > 0) {
      std::fputs("\r\033[K", stderr);
    }
  }

 private:
  std::size_t total_;
  bool shown_;
  std::size_t begun_ = 0;
};

class Run {
 public:
  /// `for_summaries`: the first of the two passes of --cross-tu.
  explicit Run(const CommandLine& line, bool for_summaries = false) : line_(line), for_summaries_(for_summaries) {}
  int run();

 private:
  bool prepare();
  bool make_summaries();
  void analyse();
  void finish(std::size_t index, int status);
  void print_ready();
  void write_outputs();

  void fail(const std::string& what) {
    say_error(what);
    failed_ = true;
  }
  int only_configuration(const CheckSelection& selection);
  unsigned jobs() const { return line_.jobs != 0 ? line_.jobs : std::max(1U, std::thread::hardware_concurrency()); }

  CommandLine line_;
  const bool for_summaries_;
  Scratch scratch_;
  std::vector<Source> sources_;
  std::vector<Prepared> prepared_;
  std::vector<std::string> warnings_as_errors_;
  std::vector<FileResults> results_;
  std::vector<std::string> texts_;  ///< what the worker printed
  std::vector<bool> done_;
  std::size_t printed_ = 0;
  std::set<std::string> seen_;  ///< findings told, for those in headers
  const fs::file_time_type started_ = fs::file_time_type::clock::now();
  Baseline baseline_;
  SourceLines lines_;
  bool failed_ = false;  ///< something outside of the sources could not be done
};

int list_checks(const Selection& selection) {
  std::printf("Enabled checks:\n");
  for (const auto& [name, where] : selection.enabled) {
    std::printf("    %s\n", name.c_str());
  }
  return kClean;
}

int explain_config(const Selection& selection) {
  for (const auto& [name, where] : selection.enabled) {
    std::printf("'%s' is enabled in %s.\n", name.c_str(), where.c_str());
  }
  return kClean;
}

/// --list-checks, --explain-config, --dump-config, --verify-config: for the first source, or a file in this folder.
int Run::only_configuration(const CheckSelection& selection) {
  std::string error;
  const std::string file = line_.files.empty() ? "example.cu" : line_.files.front();
  const Selection chosen = selection.select(file, error);
  if (!error.empty()) {
    fail(error);
    return kCouldNotRun;
  }
  if (line_.list_checks) {
    return list_checks(chosen);
  }
  if (line_.explain_config) {
    return explain_config(chosen);
  }
  const fs::path config = scratch_.path() / "config.yaml";
  Job job;
  job.arguments = {"--config-file=" + config.string(), line_.dump_config ? "--dump-config" : "--verify-config", file,
                   "--"};
  int status = -1;
  if (write_file(config, clang::tidy::configurationAsText(chosen.options))) {
    run_jobs({job}, 1, [](std::size_t) {}, [&status](std::size_t, int ended) { status = ended; });
  }
  return status == 0 ? kClean : kCouldNotRun;
}

bool Run::prepare() {
  std::string error;
  const CheckSelection selection(line_, error);
  if (!error.empty()) {
    fail(error);
    return false;
  }
  for (const std::string& model : line_.models) {
    if (Models models; !models.read_yaml(model, error)) {
      fail(error);
      return false;
    }
  }
  if (!line_.baseline.empty()) {
    baseline_ = Baseline::read(line_.baseline, error);
    if (!error.empty()) {
      fail(error);
      return false;
    }
  }
  if (!line_.summaries_in.empty() && !fs::is_directory(line_.summaries_in)) {
    fail("--summaries-in: there is no folder " + line_.summaries_in);
    return false;
  }
  std::string remark;
  sources_ = read_sources(line_, remark, error);
  if (!remark.empty() && !for_summaries_) {
    say(remark);
  }
  if (!error.empty()) {
    fail(error);
    return false;
  }
  if (line_.cross_tu && !make_summaries()) {
    return false;
  }
  const Preparation preparation(line_, scratch_.path(), error);
  if (!error.empty()) {
    fail(error);
    return false;
  }
  const bool color = line_.color.value_or(::isatty(STDOUT_FILENO) != 0 && (std::getenv("NO_COLOR") == nullptr));
  for (const Source& source : sources_) {
    Selection chosen = selection.select(source.file, error);
    if (error.empty() && chosen.enabled.empty()) {
      error = "no check is on for " + shown_path(source.file);
    }
    if (!error.empty()) {
      fail(error);
      return false;
    }
    chosen.options.UseColor = color;
    warnings_as_errors_.push_back(chosen.options.WarningsAsErrors.value_or(""));
    prepared_.push_back(preparation.prepare(source, chosen, prepared_.size()));
    if (line_.driver_log) {
      std::fputs(prepared_.back().log.c_str(), stderr);
    }
  }
  return true;
}

/// The first pass of --cross-tu: the same command, for summaries alone.
bool Run::make_summaries() {
  const fs::path folder = scratch_.path() / "summaries";
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (!line_.summaries_in.empty()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(line_.summaries_in, failed)) {
      if (entry.path().extension() == ".json") {
        fs::copy_file(entry.path(), folder / ("given-" + entry.path().filename().string()), failed);
      }
    }
  }
  CommandLine first = line_;
  first.cross_tu = false;
  first.summaries_in.clear();
  first.summaries_out = folder.string();
  first.dump_ir = false;
  first.driver_log = false;
  first.baseline.clear();
  Run pass(first, /*for_summaries=*/true);
  if (pass.scratch_.path().empty() || !pass.prepare()) {
    failed_ = true;
    return false;
  }
  std::vector<Job> work;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < pass.prepared_.size(); ++i) {
    if (pass.prepared_[i].error.empty()) {
      work.push_back(pass.prepared_[i].job);
      indices.push_back(i);
    }
  }
  // What goes wrong here goes wrong again in the second pass, and is told there.
  Progress progress(work.size(), !line_.quiet);
  run_jobs(
      work, jobs(), [&](std::size_t job) { progress.begin(sources_[indices[job]].file + " (summary)"); },
      [](std::size_t, int) {});
  line_.summaries_in = folder.string();
  return noted_signal() == 0;
}

void Run::analyse() {
  results_.resize(sources_.size());
  texts_.resize(sources_.size());
  done_.resize(sources_.size());
  std::vector<Job> work;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    results_[i].file = sources_[i].file;
    results_[i].problem = prepared_[i].error;
    if (prepared_[i].error.empty()) {
      work.push_back(prepared_[i].job);
      indices.push_back(i);
    } else {
      done_[i] = true;
    }
  }
  Progress progress(work.size(), !line_.quiet);
  run_jobs(
      work, jobs(), [&](std::size_t job) { progress.begin(sources_[indices[job]].file); },
      [&](std::size_t job, int status) {
        finish(indices[job], status);
        progress.clear();
        print_ready();
      });
  progress.clear();
  print_ready();
}

void Run::finish(std::size_t index, int status) {
  const Prepared& prepared = prepared_[index];
  std::string errors;
  read_file(prepared.job.output, texts_[index]);
  read_file(prepared.job.errors, errors);
  if (line_.driver_log) {
    std::fputs(errors.c_str(), stderr);
  }
  results_[index] = read_results(sources_[index].file, prepared.export_fixes, prepared.job.sidecar, errors, status,
                                 warnings_as_errors_[index], lines_);
  done_[index] = true;
}

void Run::print_ready() {
  for (; printed_ < done_.size() && done_[printed_]; ++printed_) {
    FileResults& results = results_[printed_];
    for (Result& result : results.results) {
      result.known = baseline_.contains(result.fingerprint);
      const Place& place = result.site.place;
      result.repeated = !seen_
                             .insert(result.check + '\n' + place.file + '\n' + std::to_string(place.offset) + '\n' +
                                     result.site.message)
                             .second;
    }
    std::fputs(shown_text(texts_[printed_], results, prepared_[printed_].repaired, line_.show_errors).c_str(), stdout);
    std::fputs(results.dump.c_str(), stdout);
    std::fflush(stdout);
    if (!results.problem.empty()) {
      say_error(shown_path(results.file) + " was not analysed" + (results.analysed ? " whole" : "") + ": " +
                results.problem);
    }
  }
}

void Run::write_outputs() {
  const auto write = [this](const std::string& path, const std::string& text) {
    if (!path.empty() && !write_file(path, text)) {
      fail("cannot write " + path);
    }
  };
  if (!line_.sarif.empty()) {
    write(line_.sarif, print_sarif(results_, !line_.baseline.empty()));
  }
  if (!line_.export_fixes.empty()) {
    write(line_.export_fixes, print_replacements(results_));
  }
  if (line_.github) {
    std::fputs(print_github(results_).c_str(), stdout);
    std::fflush(stdout);
  }
  if (!line_.write_baseline.empty() && !Baseline::write(line_.write_baseline, results_)) {
    fail("cannot write " + line_.write_baseline);
  }
  if (line_.fix) {
    const Repaired repaired = repair(results_, started_);
    for (const std::string& file : repaired.changed) {
      fail(file + " has changed since it was analysed: not repaired; run --fix again");
    }
    for (const std::string& file : repaired.errors) {
      fail("cannot repair " + file);
    }
    if (!line_.quiet || repaired.in_conflict > 0) {
      say("repaired " + plural(repaired.findings, "finding") + " in " + plural(repaired.files.size(), "file") +
          (repaired.in_conflict == 0
               ? ""
               : "; " + std::to_string(repaired.in_conflict) + " more in conflict with these: run --fix again"));
    }
  }
}

int Run::run() {
  if (scratch_.path().empty()) {
    fail("no temporary folder can be made");
    return kCouldNotRun;
  }
  if (line_.list_checks || line_.explain_config || line_.dump_config || line_.verify_config) {
    std::string error;
    const CheckSelection selection(line_, error);
    if (!error.empty()) {
      fail(error);
      return kCouldNotRun;
    }
    return only_configuration(selection);
  }
  if (!prepare()) {
    return kCouldNotRun;
  }
  analyse();
  if (noted_signal() != 0) {
    return kCouldNotRun;
  }
  write_outputs();
  if (line_.show_skipped) {
    for (const FileResults& file : results_) {
      for (const Unanalysed& one : file.skipped) {
        say("not analysed: " + shown_path(one.file) + ":" + std::to_string(one.line) + ": " + one.function + ": " +
            one.reason);
      }
    }
  }
  const Summary summary(results_);
  if (!line_.quiet || !summary.whole()) {
    say(summary.text(line_.baseline.empty() ? nullptr : &baseline_));
  }
  if (failed_ || summary.files_not_analysed() > 0) {
    return kCouldNotRun;
  }
  return summary.counts() && line_.write_baseline.empty() ? kFindings : kClean;
}

}  // namespace

int run(const CommandLine& line) { return Run(line).run(); }

}  // namespace streamsan::analyzer
