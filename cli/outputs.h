// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a command writes beside its text, as options ask: one format each.
//
// A format is a row of options.def, of type Output, and a function of the same name in report/ (formats.h). A file that
// cannot be written does not keep the others from being written.
#pragma once

#include <string>

#include "cli/options.h"
#include "report/finding.h"
#include "report/formats.h"

namespace streamsan::cli {

struct Ending {
  int exit_code = 0;           ///< with which the command will end, if all can be written
  bool after_program = false;  ///< a program has written to our stdout, perhaps half a line
};

/// What makes no sense about the options for outputs; empty: nothing. Before any work is done.
std::string outputs_fault(const Options& options);

/// Does an output show the run itself?
bool wants_views(const Options& options);

/// Writes all of them; `results` have views if wants_views(). Returns what could not be written; empty: nothing.
std::string write_outputs(const Options& options, const report::Results& results, Ending ending);

/// Is there anything to write?
bool writes_outputs(const Options& options);

/// Sets all of them to nothing.
void forget_outputs(Options& options);

/// The least severity that is shown.
report::Severity least_severity(const Options& options);

}  // namespace streamsan::cli
