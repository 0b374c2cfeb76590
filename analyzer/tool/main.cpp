// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// streamsan-tidy: the driver, which the user starts and which forks a worker for each source (workers.h).
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <optional>

#include "analyzer/tool/command_line.h"
#include "analyzer/tool/driver.h"
#include "analyzer/tool/signals.h"
#include "analyzer/tool/text_output.h"

namespace {

/// A descriptor that the parent closed would be that of the next file opened, and findings be written into it. What is
/// put in its place cannot be written either, but is not mistaken for it.
void occupy_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1) {
      ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest that is free
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace streamsan::analyzer;
  occupy_closed_descriptors();
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
  if (print_failure() != 0) {
    say_error(std::string("cannot write to stdout: ") + std::strerror(print_failure()));
    exit_code = kCouldNotRun;
  }
  return exit_code;
}
