// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streamsan-tidy. Two programs in one file: the driver, which the user starts, and the worker, which the driver starts
// for each source (workers.h).
#include <cstring>
#include <exception>
#include <optional>

#include "analyzer/tool/command_line.h"
#include "analyzer/tool/driver.h"
#include "analyzer/tool/scratch.h"
#include "analyzer/tool/text_output.h"
#include "analyzer/tool/workers.h"

int main(int argc, char** argv) {
  using namespace streamsan::analyzer;
  if (argc > 1 && std::strcmp(argv[1], kWorkerArgument) == 0) {
    return run_worker(argc, argv);
  }
  note_signals();
  int exit_code = kClean;
  try {
    const std::optional<CommandLine> line = read_command_line(argc, argv, exit_code);
    if (line) {
      exit_code = run(*line);
    }
  } catch (const std::exception& failure) {  // no memory, no room on disk
    say_error(failure.what());
    exit_code = kCouldNotRun;
  }
  if (noted_signal() != 0) {
    die_of_signal();
  }
  return exit_code;
}
