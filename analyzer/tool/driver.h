// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The run: sources, workers, results, exit code.
#pragma once

#include "analyzer/tool/command_line.h"

namespace streamsan::analyzer {

enum ExitCode : int {
  kClean = 0,
  kFindings = 1,     ///< some finding that counts as an error, see Result::counts()
  kCouldNotRun = 2,  ///< some file was not analysed, whatever was found in others
};

int run(const CommandLine& line);

}  // namespace streamsan::analyzer
