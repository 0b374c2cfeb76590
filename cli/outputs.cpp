// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/outputs.h"

#include <algorithm>
#include <iterator>

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

}  // namespace

Severity least_severity(const Options& options) { return choice<Severity>(options.min_severity); }

std::string outputs_fault(const Options& options) {
  std::string first = options.github ? "github" : "";
  for (const Output& output : kOutputs) {
    if (options.*output.path != "-") continue;
    if (!first.empty()) return first + " and " + output.option + " cannot both go to stdout";
    first = output.option;
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

std::string write_outputs(const Options& options, const Results& results, Ending ending) {
  const FormatContext context{.root = report::SourceRoot::here(options.strip_path_prefix),
                              .least = least_severity(options),
                              .exit_code = ending.exit_code};
  std::string faults;
  const auto write = [&faults](const std::string& path, const std::string& text) {
    const std::string fault = report::write_output(path, text);
    if (!fault.empty()) faults += (faults.empty() ? "" : "; ") + fault;
  };
  for (const Output& output : kOutputs) {
    if (const std::string& path = options.*output.path; !path.empty()) write(path, output.text(results, context));
  }
  if (options.github) write("-", github(results, context, ending.after_program));
  return faults;
}

}  // namespace streamsan::cli
