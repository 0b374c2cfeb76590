// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that ends as its argument says, after a two-stream race (or, repaired, none): `kill` by SIGKILL to
// itself, `abort`, or a number: that exit code. The report must come all the same, and how the process ended must
// not change.
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "race.cuh"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  race();
  if (std::strcmp(argv[1], "kill") == 0) kill(getpid(), SIGKILL);
  if (std::strcmp(argv[1], "abort") == 0) std::abort();
  return std::atoi(argv[1]);
}
