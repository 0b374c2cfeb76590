// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child of a fork begins anew: it knows of no thread of its parent's, and the order of its own threads is seen.
//
// RUN: %build %s -o %t -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <stdlib.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "hand_over.h"

int main() {
  // Before the first call of CUDA's, as a forked child may use CUDA only then; but threads have come and gone.
  std::thread([] {}).join();
  const pid_t child = fork();
  if (child == 0) {
    const HandOver over;
    std::thread reader;
    over.write_and([&] { reader = std::thread([&] { over.read(); }); });
    reader.join();
    exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) abort();
}
