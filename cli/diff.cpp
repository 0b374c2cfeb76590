// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/diff.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/exit_codes.h"
#include "cli/findings_source.h"
#include "cli/outputs.h"
#include "cli/session.h"
#include "report/diff.h"
#include "report/log_path.h"
#include "report/output_file.h"
#include "report/print_diff.h"

namespace streamsan::cli {
namespace {

std::optional<report::Severity> severity_of(const std::string& fail_on) {
  for (report::Severity severity :
       {report::Severity::Error, report::Severity::Latent, report::Severity::Possible, report::Severity::Note}) {
    if (fail_on == report::name(severity)) return severity;
  }
  return std::nullopt;
}

}  // namespace

int diff(const Options& options, const std::string& fail_on, const std::vector<std::string>& files) {
  Session session(options);
  const auto complain = [&session](const std::string& fault) {
    session.say(fault);
    return kOwnFailure;
  };
  if (std::string fault = session.prepare(); !fault.empty()) return complain(fault);
  report::FindingsFile before, after;
  for (auto [file, out] : {std::pair{&files[0], &before}, std::pair{&files[1], &after}}) {
    if (std::string fault = read_or_judge(*file, options, *out); !fault.empty()) return complain(fault);
    for (report::Finding& finding : out->findings) {
      finding.suppressed = finding.suppressed || session.suppressed(finding);
    }
  }
  const report::Diff found = report::compare(before.findings, before.summary, after.findings, after.summary);
  const std::optional<report::Severity> threshold = severity_of(fail_on);
  const report::DiffNames names{files[0], files[1]};

  std::string fault;
  if (options.json != "-") {
    // What fails the comparison is shown, too.
    const report::Severity least = std::max(least_severity(options), threshold.value_or(report::Severity::Error));
    fault = report::write_output("-", report::diff_text(found, names, least, session.text_options("stdout")));
  }
  if (!options.json.empty()) {
    const std::string path = report::expand_log_path(options.json, {});
    const std::string other = report::write_output(path, report::diff_json(found, names, threshold));
    if (fault.empty()) fault = other;
  }
  if (!fault.empty()) return complain(fault);
  if (!after.summary.whole) return kOwnFailure;
  return threshold && found.fails(*threshold) ? static_cast<int>(options.exitcode) : 0;
}

}  // namespace streamsan::cli
