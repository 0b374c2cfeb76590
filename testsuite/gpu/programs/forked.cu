// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that forks before it uses CUDA, as launchers and data loaders do. Parent and child each have a race of
// their own, and each must be reported.
#include <sys/wait.h>
#include <unistd.h>

#include "race.cuh"

int main() {
  const pid_t child = fork();
  if (child < 0) return 2;
  race();
  if (child == 0) return 0;
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : 2;
}
