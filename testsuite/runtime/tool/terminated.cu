// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIGTERM sent to the launcher, as batch systems and `timeout` do, ends the guest, and the report is there.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %run %t 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <unistd.h>

#include <csignal>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  // A process of its own, as `timeout` or a batch system is: the launcher does not send the guest its own signals back.
  const pid_t launcher = getppid();
  if (fork() == 0) {
    kill(launcher, SIGTERM);
    _exit(0);
  }
  for (;;) pause();
}
