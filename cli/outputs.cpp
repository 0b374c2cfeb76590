// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "report/formats.h"
#include "report/github.h"
#include "report/output_file.h"

// Each option of type Output is a format: the function of its name in report/.
#define SS_IF_OUTPUT_Bool(...)
#define SS_IF_OUTPUT_Number(...)
#define SS_IF_OUTPUT_Text(...)
#define SS_IF_OUTPUT_Output(...) __VA_ARGS__
#define SS_OPTION(type, name, default_value, where, description) \
  SS_IF_OUTPUT_##type(std::string name(const Results&, const FormatContext&);)
namespace streamsan::report {
#include "cli/options.def"
}  // namespace streamsan::report
#undef SS_OPTION

namespace streamsan::cli {
namespace {

using report::FormatContext;
using report::Results;
using report::Severity;

/// Not a file: annotations always go to stdout.
std::string github(const Results& results, const FormatContext& context, bool after_program) {
  std::string out = report::github(results.findings, results.summary, context);
  // A command of the workflow has to begin its line.
  return out.empty() || !after_program ? out : "\n" + out;
}

struct Output {
  const char* option;
  std::string Options::* path;
  std::string (*text)(const Results&, const FormatContext&);
};

constexpr Output kOutputs[] = {
#define SS_OPTION(type, name, default_value, where, description) \
  SS_IF_OUTPUT_##type({#name, &Options::name, &report::name}, )
#include "cli/options.def"
#undef SS_OPTION
#undef SS_IF_OUTPUT_Bool
#undef SS_IF_OUTPUT_Number
#undef SS_IF_OUTPUT_Text
#undef SS_IF_OUTPUT_Output
};

constexpr const char* kNowhere = "/dev/null";

/// Is it where our own output goes: /dev/fd/1, or the file that the shell redirects to?
bool is_stdout(const std::string& path) {
  struct stat file{}, own{};
  if (path == "-" || path == "/dev/stdout") return true;
  return ::stat(path.c_str(), &file) == 0 && ::fstat(STDOUT_FILENO, &own) == 0 && file.st_dev == own.st_dev &&
         file.st_ino == own.st_ino;
}

/// What two names of one file have in common.
std::string file_of(const std::string& path) { return is_stdout(path) ? "/dev/stdout" : report::file_behind(path); }

std::string shown(const std::string& path) { return path == "-" ? "stdout" : path; }

/// The shares of processes whose names make one file.
class Together {
 public:
  explicit Together(const report::Summary& of_run) : summary_(of_run) {}
  void add(const ProcessShare& process) {
    findings_.insert(findings_.end(), process.findings.begin(), process.findings.end());
    views_.insert(views_.end(), process.views.begin(), process.views.end());
    summary_ += process.summary;
  }
  [[nodiscard]] Results results() const { return {.findings = findings_, .summary = summary_, .views = views_}; }

 private:
  std::vector<report::Finding> findings_;
  std::vector<report::RunView> views_;
  report::Summary summary_;
};

}  // namespace

Severity least_severity(const Options& options) { return choice<Severity>(options.min_severity); }

std::string outputs_fault(const Options& options) {
  std::map<std::string, const char*> taken;
  if (options.github) taken.emplace(file_of("-"), "github");
  for (const Output& output : kOutputs) {
    const std::string& path = options.*output.path;
    if (path.empty() || path == kNowhere) continue;
    const auto [first, fresh] = taken.emplace(file_of(path), output.option);
    if (fresh) continue;
    return std::string(first->second) + " and " + output.option + " cannot both go to " + shown(path);
  }
  return {};
}

std::string log_fault(const Options& options) {
  if (options.log_path == "stderr" || options.log_path == kNowhere) return {};
  const std::string log = options.log_path == "stdout" ? "-" : options.log_path;
  const char* other = options.github && file_of("-") == file_of(log) ? "github" : nullptr;
  for (const Output& output : kOutputs) {
    const std::string& path = options.*output.path;
    if (!path.empty() && file_of(path) == file_of(log)) other = output.option;
  }
  return other ? std::string("log_path and ") + other + " cannot both go to " + shown(log) : "";
}

std::string placeholder_fault(const Options& options) {
  for (const Output& output : kOutputs) {
    const std::string& path = options.*output.path;
    if (report::names_process(path)) {
      return std::string(output.option) + "=" + path +
             ": %p and %b stand for a process, and these findings may be of several";
    }
  }
  return {};
}

bool wants_views(const Options& options) { return !options.html.empty() || !options.perfetto.empty(); }

bool writes_outputs(const Options& options) {
  return options.github || std::any_of(std::begin(kOutputs), std::end(kOutputs),
                                       [&](const Output& output) { return !(options.*output.path).empty(); });
}

void forget_outputs(Options& options) {
  options.github = false;
  for (const Output& output : kOutputs) (options.*output.path).clear();
}

std::string write_outputs(const Options& options, const OutputContents& contents, Ending ending) {
  const FormatContext context{.root = report::SourceRoot::here(options.strip_path_prefix),
                              .least = least_severity(options),
                              .exit_code = ending.exit_code};
  std::string faults;
  const auto write = [&faults](const std::string& path, const std::string& text) {
    const std::string fault = report::write_output(path, text);
    if (!fault.empty()) faults += (faults.empty() ? "" : "; ") + fault;
  };
  for (const Output& output : kOutputs) {
    const std::string& pattern = options.*output.path;
    if (pattern.empty()) continue;
    if (!report::names_process(pattern) || contents.processes.empty()) {
      write(report::expand_log_path(pattern, contents.nobody), output.text(contents.all, context));
      continue;
    }
    std::map<std::string, Together> files;
    for (const ProcessShare& process : contents.processes) {
      files.try_emplace(report::expand_log_path(pattern, process.names), contents.of_run).first->second.add(process);
    }
    for (const auto& [path, together] : files) write(path, output.text(together.results(), context));
  }
  if (options.github) write("-", github(contents.all, context, ending.after_program));
  return faults;
}

}  // namespace streamsan::cli
