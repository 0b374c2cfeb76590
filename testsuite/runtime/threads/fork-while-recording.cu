// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process forks while its other threads are in the middle of driver calls. The child may come into being at any point
// of the recorder's work; it must still be able to run and exit, and must not touch the parent's trace.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %expect 0 %streamsan run --json %t.json -- %t
// RUN: %json %t.json | %filecheck %s
//
// CHECK: findings.size = 0
// CHECK: summary.processes = 1
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "must.h"

int main() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      char* buffer;
      must(cudaMalloc(&buffer, 4096));
      cudaStream_t stream;
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int n = 0; !stop; ++n) must(cudaMemsetAsync(buffer, n, 4096, stream));
      must(cudaStreamSynchronize(stream));
    });
  }
  for (int i = 0; i < 50; ++i) {
    pid_t child = fork();
    if (child == 0) _exit(9);
    int status;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 9) return 98;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}
