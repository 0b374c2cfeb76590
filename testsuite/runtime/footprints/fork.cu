// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process forks while other threads are being measured. The child, in which CUDA cannot be used, exits as ever; the
// parent goes on measuring.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %silent %t
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s
// REQUIRES: nulldriver
//
// SCRIPT: fill write #0 64
//
// CHECK: footprints of kernels measured: {{[0-9]+}} launches in
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "must.h"

__global__ void fill(float*, int) {}

int main() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      float* buffer;
      must(cudaMalloc(&buffer, 4096));
      cudaStream_t stream;
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int n = 0; !stop; ++n) {
        fill<<<1, 16, 0, stream>>>(buffer, n % 1000);
        must(cudaGetLastError());
      }
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
