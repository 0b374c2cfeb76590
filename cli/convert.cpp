// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/convert.h"

#include <algorithm>

#include "cli/exit_codes.h"
#include "cli/findings_source.h"
#include "cli/session.h"

namespace streamsan::cli {

int convert(Options options, bool text, const std::vector<std::string>& files) {
  // Text is what was asked for here, and not, as beside a program, an answer to be kept apart from the program's
  // output.
  if (text) options.log_path = "stdout";
  options.verbosity = std::max(options.verbosity, 1u);
  Session session(options);
  if (!text) session.only_outputs();
  const auto complain = [&session](const std::string& fault) {
    session.say(fault);
    return kOwnFailure;
  };
  std::vector<report::FindingsFile> read(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (const std::string fault = read_findings(files[i], read[i]); !fault.empty()) return complain(fault);
  }
  if (const std::string fault = session.prepare(); !fault.empty()) return complain(fault);
  for (std::size_t i = 0; i < files.size(); ++i) {
    report::Summary& summary = read[i].summary;
    Verdict verdict;
    verdict.trace = files[i];
    verdict.processes = summary.processes;
    verdict.findings = std::move(read[i].findings);
    verdict.operations = summary.operations;
    verdict.warnings = std::move(summary.warnings);
    verdict.damage = summary.whole ? "" : "the run was not judged to its end; findings may be missing";
    verdict.syncs_judged = summary.syncs;
    session.add(std::move(verdict));
  }
  const int code = session.has_damage() ? kOwnFailure : session.has_errors() ? static_cast<int>(options.exitcode) : 0;
  const std::string fault = session.finish(code);
  return fault.empty() ? code : complain(fault);
}

}  // namespace streamsan::cli
