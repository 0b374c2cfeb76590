// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child made by the bare system call runs no fork handlers: it must neither touch its parent's trace nor die of it, and
// ends as it would without us. The parent's work is judged as ever.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

int main() {
  cudaStream_t first, second;
  must(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMemsetAsync(buffer, 0, 4096, first));
  long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (child == 0) {
    cudaMemsetAsync(buffer, 0, 4096, second);
    exit(3);
  }
  int status = 0;
  if (waitpid(static_cast<pid_t>(child), &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) return 98;
#ifdef FIXED
  must(cudaStreamSynchronize(first));
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, second));
  return 0;
}
