// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many threads launch at once, each on its own part of one buffer. One launch is measured at a time, and the others do
// not wait for it; none of them is given the bytes of another.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %silent %t
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s
// RUN: %measured WIDER %racy %t 2>&1 | %filecheck %s --check-prefix=WIDER
// REQUIRES: nulldriver
//
// SCRIPT: fill write #0 64
// WIDER: fill write #0 65
//
// CHECK: footprints of kernels measured: {{[1-9][0-9]*}} launch
// WIDER: ERROR: streamsan: write-after-write{{.*}}[1 byte overlap]
#include <thread>
#include <vector>

#include "must.h"

__global__ void fill(float*, int) {}

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 8 * 64));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([=] {
      cudaStream_t stream;
      must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int n = 0; n < 200; ++n) {
        fill<<<1, 16, 0, stream>>>(buffer + i * 16, n % 20 + 100 * i);
        must(cudaGetLastError());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
