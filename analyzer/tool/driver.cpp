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
// With --cross-tu each source leaves what its functions do, and finds what those have left that were looked at before
// it (source_order.h). Those that others tell something which was not there yet (ir/links.h) are looked at once more;
// of these only the second look counts.
//
// The summary counts what was looked at as well as what was found, and the exit code is 2 as soon as one file could not
// be analysed: an empty list of findings means nothing without that.
#include "analyzer/tool/driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "analyzer/ir/links.h"
#include "analyzer/models/model.h"
#include "analyzer/tidy/summary_files.h"
#include "analyzer/tool/baseline.h"
#include "analyzer/tool/configuration.h"
#include "analyzer/tool/files.h"
#include "analyzer/tool/preparation.h"
#include "analyzer/tool/repairs.h"
#include "analyzer/tool/sarif.h"
#include "analyzer/tool/scratch.h"
#include "analyzer/tool/signals.h"
#include "analyzer/tool/source_order.h"
#include "analyzer/tool/summary.h"
#include "analyzer/tool/text_output.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

/// By position: what is needed of other translation units (ir/links.h) was not all read.
std::vector<bool> lack_summaries(const fs::path& folder, const std::vector<FileResults>& results) {
  std::map<std::string, ir::Links> found;  // in the order of their names
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::string text;
    ir::Links one;
    if (entry.path().extension() == ".links" && read_file(entry.path(), text) && ir::read_links(text, one)) {
      found.emplace(entry.path().stem().string(), std::move(one));
    }
  }
  std::vector<std::string> names;
  std::vector<ir::Links> links;
  for (auto& [name, one] : found) {
    names.push_back(name);
    links.push_back(std::move(one));
  }
  const ir::Neighbours neighbours(links);
  std::vector<bool> lacking;
  for (const FileResults& result : results) {
    const auto lacks_any = [&](const std::string& own) {
      const auto at = std::ranges::lower_bound(names, own);
      if (at == names.end() || *at != own) return false;
      const auto position = static_cast<std::size_t>(at - names.begin());
      return std::ranges::any_of(neighbours.of(links[position], position).units,
                                 [&](std::size_t unit) { return !result.summaries_read.contains(names[unit]); });
    };
    lacking.push_back(std::ranges::any_of(result.summaries_written, lacks_any));
  }
  return lacking;
}

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

std::vector<std::size_t> all_of(const std::vector<Source>& sources) {
  std::vector<std::size_t> indices(sources.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

constexpr const char* kGiven = "given-";  ///< before the names of summaries that the user gave

/// Throws what the file system refuses. `wanted`: by their names.
template <typename Wanted>
void copy_summaries(const fs::path& from, const fs::path& to, const std::string& prefix, const Wanted& wanted) {
  fs::create_directories(to);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const bool is_one = entry.path().extension() == ".json" || entry.path().extension() == ".links";
    if (is_one && wanted(entry.path().stem().string())) {
      fs::copy_file(entry.path(), to / (prefix + entry.path().filename().string()),
                    fs::copy_options::overwrite_existing);
    }
  }
}

class Run {
 public:
  explicit Run(const CommandLine& line) : line_(line) {}
  int run();

 private:
  void prepare(std::string& error);
  [[nodiscard]] std::string missing_folder() const;
  void prepare_each(const std::vector<std::size_t>& sources, const CheckSelection& selection, std::string& error);
  void analyse();
  void analyse_across();
  void look_again(std::string& error);
  /// Runs a worker for each of the sources that could be prepared, by their indices.
  /// `after`: by index, those that should have been looked at before.
  void run_workers(const std::vector<std::size_t>& sources, const char* pass, const std::function<void()>& done,
                   const std::vector<std::vector<std::size_t>>* after = nullptr);
  void finish(std::size_t index, int status);
  void print_ready();
  void write_outputs();

  void fail(const std::string& what) {
    say_error(what);
    failed_ = true;
  }
  unsigned jobs() const { return line_.jobs != 0 ? line_.jobs : std::max(1U, std::thread::hardware_concurrency()); }

  CommandLine line_;
  Scratch scratch_;
  std::vector<Source> sources_;
  std::vector<Prepared> prepared_;
  std::vector<std::string> warnings_as_errors_;
  std::vector<FileResults> results_;
  IncludedText texts_of_sources_;
  std::vector<std::string> texts_;  ///< what the worker printed
  std::vector<bool> done_;
  std::size_t workers_ = 0;     ///< prepared so far: each has files of its own
  std::string kept_summaries_;  ///< --summaries-out beside --cross-tu
  std::size_t printed_ = 0;
  std::set<std::string> seen_;                   ///< findings reported, to repeat none of those in headers
  std::map<std::string, std::size_t> shown_in_;  ///< the places of a finding, and the first file that has it
  const fs::file_time_type started_ = fs::file_time_type::clock::now();
  Baseline baseline_;
  SourceLines lines_;
  bool failed_ = false;  ///< something outside of the sources could not be done
};

void Run::prepare(std::string& error) {
  const CheckSelection selection(line_, error);
  for (const std::string& model : line_.models) {
    if (Models models; error.empty()) {
      models.read_yaml(model, error);
    }
  }
  if (error.empty() && !line_.baseline.empty()) {
    baseline_ = Baseline::read(line_.baseline, error);
  }
  if (error.empty()) {
    error = missing_folder();
  }
  if (!error.empty()) {
    return;
  }
  std::string remark;
  sources_ = read_sources(line_, remark, error);
  if (!remark.empty()) {
    say(remark);
  }
  if (!error.empty()) {
    return;
  }
  if (line_.cross_tu) {
    const fs::path folder = scratch_.path() / "summaries";
    fs::create_directory(folder);
    if (!line_.summaries_in.empty()) {
      std::set<std::string> own;  // older ones of the sources of this run say nothing
      for (const Source& source : sources_) {
        for (unsigned i = 0; i < source.compilations.size(); ++i) own.insert(summary_name(source.file, i));
      }
      copy_summaries(line_.summaries_in, folder, kGiven, [&](const std::string& name) { return !own.contains(name); });
    }
    kept_summaries_ = std::exchange(line_.summaries_out, folder.string());
    line_.summaries_in = folder.string();
  }
  prepared_.resize(sources_.size());
  warnings_as_errors_.resize(sources_.size());
  prepare_each(all_of(sources_), selection, error);
}

void Run::prepare_each(const std::vector<std::size_t>& sources, const CheckSelection& selection, std::string& error) {
  Preparation preparation(line_, scratch_.path(), texts_of_sources_, error);
  const bool color = line_.color.value_or(::isatty(STDOUT_FILENO) != 0 && (std::getenv("NO_COLOR") == nullptr));
  for (const std::size_t index : sources) {
    const Source& source = sources_[index];
    Selection chosen = error.empty() ? selection.select(source.file, error) : Selection{};
    if (error.empty() && chosen.enabled.empty()) {
      error = "no check is on for " + shown_path(source.file);
    }
    if (!error.empty()) {
      return;
    }
    chosen.options.UseColor = color;
    warnings_as_errors_[index] = chosen.options.WarningsAsErrors.value_or("");
    prepared_[index] = preparation.prepare(source, chosen, workers_++);
    if (line_.driver_log) {
      std::fputs(prepared_[index].log.c_str(), stderr);
    }
  }
}

/// What is to be read or written later lies in folders that exist: nobody wants to hear after an hour that not.
std::string Run::missing_folder() const {
  std::error_code ignored;
  if (!line_.summaries_in.empty() && !fs::is_directory(line_.summaries_in, ignored)) {
    return "--summaries-in: there is no folder " + line_.summaries_in;
  }
  for (const auto& [option, path] : {std::pair("--sarif", line_.sarif), std::pair("--export-fixes", line_.export_fixes),
                                     std::pair("--write-baseline", line_.write_baseline)}) {
    const std::string cannot_write = std::string(option) + ": cannot write " + path + ": ";
    const fs::path folder = fs::path(absolute_path(path)).parent_path();
    if (fs::is_directory(path, ignored)) {
      return cannot_write + "it is a folder";
    }
    if (!path.empty() && !fs::is_directory(folder, ignored)) {
      return cannot_write + "there is no folder " + folder.string();
    }
  }
  return {};
}

void Run::run_workers(const std::vector<std::size_t>& sources, const char* pass, const std::function<void()>& done,
                      const std::vector<std::vector<std::size_t>>* after) {
  std::vector<Job> work;
  std::vector<std::size_t> indices;
  for (const std::size_t i : sources) {
    if (prepared_[i].error.empty()) {
      work.push_back(prepared_[i].job);
      indices.push_back(i);
    }
  }
  Progress progress(work.size(), !line_.quiet);
  const auto prefers_to_wait = [&](std::size_t job) {
    return after != nullptr &&
           !std::ranges::all_of((*after)[indices[job]], [&](std::size_t one) { return done_[one]; });
  };
  run_jobs(
      work, jobs(), prefers_to_wait, [&](std::size_t job) { progress.begin(sources_[indices[job]].file + pass); },
      [&](std::size_t job, int status) {
        progress.clear();
        // Killed or complaining: perhaps of what it could not write, and could not even say.
        if (status != 0) {
          scratch_.demand_room();
        }
        finish(indices[job], status);
        done();
      });
}

void Run::analyse() {
  if (sources_.size() > 1) Models::make_built_in();  // workers are forks
  results_.resize(sources_.size());
  texts_.resize(sources_.size());
  done_.resize(sources_.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    results_[i].file = sources_[i].file;
    results_[i].problem = prepared_[i].error;
    done_[i] = !prepared_[i].error.empty();
  }
  if (line_.cross_tu) {
    analyse_across();
  } else {
    run_workers(all_of(sources_), "", [this] { print_ready(); });
  }
  print_ready();
}

void Run::analyse_across() {
  std::map<const IncludedText::File*, Mentions> known;
  std::vector<Mentions> mentions;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Mentions all;
    for (const IncludedText::File* file : texts_of_sources_.of(sources_[i].file, prepared_[i].include_folders)) {
      const auto [found, fresh] = known.try_emplace(file);
      if (fresh) found->second = mentions_in(file->text);
      all.calls.insert(found->second.calls.begin(), found->second.calls.end());
      if (file->path == sources_[i].file) all.defines = found->second.defines;
    }
    mentions.push_back(std::move(all));
  }
  const SourceOrder order = order_of(mentions);
  run_workers(order.order, "", [] {}, &order.after);
  std::string error;
  if (!kept_summaries_.empty()) {
    try {
      copy_summaries(line_.summaries_out, kept_summaries_, "",
                     [](const std::string& name) { return !name.starts_with(kGiven); });
    } catch (const fs::filesystem_error& cannot) {  // no reason to lose what was found
      fail("--summaries-out: " + std::string(cannot.what()));
    }
  }
  look_again(error);
  if (!error.empty()) {
    fail(error);
  }
}

/// The second look of --cross-tu: at the sources that others tell something which they have not read.
void Run::look_again(std::string& error) {
  if (noted_signal() != 0) {
    return;
  }
  std::vector<std::size_t> again;
  const std::vector<bool> lacking = lack_summaries(line_.summaries_out, results_);
  for (std::size_t i = 0; i < lacking.size(); ++i) {
    if (lacking[i]) again.push_back(i);
  }
  if (again.empty()) {
    return;
  }
  line_.summaries_out.clear();
  prepare_each(again, CheckSelection(line_, error), error);
  if (error.empty()) {
    run_workers(again, " (again)", [] {});
  }
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
      // Another file may show the same defect, in its own words.
      if (!result.places.empty()) {
        const auto [shown, first] = shown_in_.emplace(result.check + '\n' + result.places, printed_);
        result.repeated = result.repeated || (!first && shown->second != printed_);
      }
    }
    print(shown_text(texts_[printed_], results, prepared_[printed_].repaired, line_.show_errors) + results.dump);
    if (!results.problem.empty()) {
      say_error(shown_path(results.file) + " was not analysed" + (results.analysed ? " whole" : "") + ": " +
                results.problem);
    }
  }
}

void Run::write_outputs() {
  const auto demand = [this](const std::string& path, std::error_code failed) {
    if (failed) {
      fail("cannot write " + path + ": " + failed.message());
    }
  };
  if (!line_.sarif.empty()) {
    demand(line_.sarif, write_file(line_.sarif, print_sarif(results_, !line_.baseline.empty())));
  }
  if (!line_.export_fixes.empty()) {
    demand(line_.export_fixes, write_file(line_.export_fixes, print_replacements(results_)));
  }
  if (line_.github) {
    print(print_github(results_));
  }
  if (!line_.write_baseline.empty()) {
    demand(line_.write_baseline, Baseline::write(line_.write_baseline, results_));
  }
  if (line_.fix) {
    const Repaired repaired = repair(results_, started_);
    for (const std::string& file : repaired.changed) {
      fail(file + " has changed since it was analysed: not repaired; run --fix again");
    }
    for (const std::string& error : repaired.errors) {
      fail("cannot repair " + error);
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
  std::string error;
  if (asks_for_configuration(line_)) {
    const CheckSelection selection(line_, error);
    if (error.empty()) {
      return print_configuration(line_, selection, scratch_) ? kClean : kCouldNotRun;
    }
  } else {
    prepare(error);
  }
  if (!error.empty()) {
    say_error(error);
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
    say(summary.text(line_.baseline.empty() ? nullptr : &baseline_, line_.cross_tu || !line_.summaries_in.empty()));
  }
  if (failed_ || summary.files_not_analysed() > 0) {
    return kCouldNotRun;
  }
  return summary.counts() && line_.write_baseline.empty() ? kFindings : kClean;
}

}  // namespace

int run(const CommandLine& line) { return Run(line).run(); }

}  // namespace streamsan::analyzer
