// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parent uses CUDA, then forks a child that does not: one process, one report.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json -- %t 2>&1 | %report
// RUN: %json %t.json | %sites --check-prefix=JSON
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-COUNT-1: ERROR: streamsan: write-after-write
// CHECK-NOT: ERROR: streamsan:
// JSON: findings.size = 1
// JSON: summary.processes = 1
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));
  pid_t child = fork();
  if (child == 0) _exit(9);
  int status;
  if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 9) return 98;
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemsetAsync(buffer, 1, 4096, s2));
}
