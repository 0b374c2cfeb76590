// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/convert.h"

#include <algorithm>
#include <cstdio>

#include "cli/findings_source.h"
#include "cli/session.h"

namespace streamsan::cli {
namespace {

constexpr int kOwnFailure = 2;

}  // namespace

int convert(Options options, bool text, const std::vector<std::string>& files) {
  // Text is what was asked for here, and not, as beside a program, an answer to be kept apart from the program's
  // output.
  if (text) options.log_path = "stdout";
  options.verbosity = std::max(options.verbosity, 1u);
  std::vector<report::FindingsFile> read(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (std::string fault = read_findings(files[i], read[i]); !fault.empty()) {
      std::fprintf(stderr, "streamsan: %s\n", fault.c_str());
      return kOwnFailure;
    }
  }
  Session session(options);
  if (!text) session.only_outputs();
  std::string fault = session.prepare();
  if (!fault.empty()) {
    session.say(fault);
    return kOwnFailure;
  }
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
  fault = session.finish(code);
  if (!fault.empty()) session.say(fault);
  return fault.empty() ? code : kOwnFailure;
}

}  // namespace streamsan::cli
