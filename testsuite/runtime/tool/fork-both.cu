// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process forks before it uses CUDA; parent and child then both use it. Each is a process of its own, with its own
// trace and its own findings.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json -- %t 2>&1 | %report
// RUN: %json %t.json | %sites --check-prefix=JSON
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-DAG: work(char const*){{.*}}[[PLACE]]
// CHECK-DAG: SUMMARY: streamsan: 2 errors
// JSON: summary.errors = 2
// JSON: summary.processes = 2
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

void work(const char*) {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));  // @PLACE
#ifdef FIXED
    must(cudaStreamSynchronize(stream));
#endif
  }
}

int main() {
  pid_t child = fork();
  work(child ? "parent" : "child");
  if (child == 0) std::exit(0);
  int status;
  return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 98;
}
