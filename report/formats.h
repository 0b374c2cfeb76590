// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all formats are given, and which findings the formats for CI services list (sarif.h, junit.h, github.h).
//
// A format is a row of type Output in cli/options.def and a function of the option's name,
//     std::string sarif(const Results& results, const FormatContext& context);
// which makes the text of the file. cli/outputs.cpp calls it.
//
// Unlike the JSON file, which has all findings, formats for CI services list those that a person should look at: the
// severities that are shown as text, hints, and of the synchronising calls those that could be removed or replaced.
#pragma once

#include <span>
#include <string>

#include "report/finding.h"
#include "report/run_view.h"
#include "report/source_root.h"

namespace streamsan::report {

struct Results {
  std::span<const Finding> findings;
  const Summary& summary;
  std::span<const RunView> views = {};  ///< one for each process; none unless a format that shows the run is asked for
};

struct FormatContext {
  SourceRoot root;
  Severity least = Severity::Latent;  ///< least severity listed
  int exit_code = 0;                  ///< with which the command will end
};

bool is_listed(const Finding& finding, Severity least);

}  // namespace streamsan::report
