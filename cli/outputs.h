// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a command writes beside its text, as options ask: one format each.
//
// A format is a row of options.def, of type Output, and a function of the same name in report/ (formats.h). A file that
// cannot be written does not keep the others from being written.
//
// A path may have the placeholders of log_path. With %p or %b in it each process, or each program, has a file of its
// own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "report/finding.h"
#include "report/formats.h"
#include "report/log_path.h"

namespace streamsan::cli {

struct Ending {
  int exit_code = 0;           ///< with which the command will end, if all can be written
  bool after_program = false;  ///< a program has written to our stdout, perhaps half a line
};

/// Which of all results are those of one process.
struct ProcessShare {
  report::LogNames names;
  std::span<const report::Finding> findings;
  std::span<const report::RunView> views;
  report::Summary summary;  ///< of what its trace says
};

/// What is written.
struct OutputContents {
  report::Results all;
  std::span<const ProcessShare> processes;
  /// Concerns the run and no process's trace: goes into each file.
  report::Summary of_run;
  /// Where there is no process to name a file after.
  report::LogNames nobody;
};

/// What makes no sense about the options for outputs; empty: nothing. Before any work is done.
std::string outputs_fault(const Options& options);

/// As above, of run and check, whose text may go to a file, too.
std::string log_fault(const Options& options);

/// As above, of a command that has no process to name files after.
std::string placeholder_fault(const Options& options);

/// Does an output show the run itself?
bool wants_views(const Options& options);

/// Writes all of them; the contents have views if wants_views(). Returns what could not be written; empty: nothing.
std::string write_outputs(const Options& options, const OutputContents& contents, Ending ending);

/// Is there anything to write?
bool writes_outputs(const Options& options);

/// Sets all of them to nothing.
void forget_outputs(Options& options);

/// The least severity that is shown.
report::Severity least_severity(const Options& options);

}  // namespace streamsan::cli
