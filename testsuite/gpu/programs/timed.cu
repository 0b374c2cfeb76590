// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that take a known time, by the clock of the GPU. What the times of --timings must be is printed in lines that
// suite/times.py reads.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "check.h"

__global__ void spin(uint64_t ns, int* out) {
  uint64_t start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < ns);
  if (out) *out = 1;
}

constexpr uint64_t kMillisecond = 1000000;

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "kernels";
  cudaStream_t a, b;
  CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  int* flag;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  // The launch that loads the kernel may return when it has run: how long is waited for that one nobody can say.
  spin<<<1, 1, 0, a>>>(0, flag);
  CHECK(cudaDeviceSynchronize());
  if (!strcmp(way, "kernels")) {
    spin<<<1, 1, 0, a>>>(1 * kMillisecond, flag);
    spin<<<1, 1, 0, a>>>(2 * kMillisecond, flag);
    spin<<<1, 1, 0, b>>>(5 * kMillisecond, nullptr);
    spin<<<1, 1, 0, a>>>(4 * kMillisecond, flag);
    CHECK(cudaDeviceSynchronize());
    puts("{\"lasts\": [\"kernel spin\", [0, 1, 2, 5, 4]]}");
    puts("{\"blocked\": 7}");
  } else if (!strcmp(way, "graph")) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 3; ++i) spin<<<1, 1, 0, a>>>(kMillisecond, flag);
    CHECK(cudaStreamEndCapture(a, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, a));
    CHECK(cudaStreamSynchronize(a));
    puts("{\"lasts\": [\"cudaGraphLaunch\", [3, 3]]}");
    puts("{\"blocked\": 6}");
  } else {
    spin<<<1, 1, 0, a>>>(2 * kMillisecond, flag);
    CHECK(cudaStreamSynchronize(a));
    const timespec ten = {0, 10000000};
    nanosleep(&ten, nullptr);
    spin<<<1, 1, 0, a>>>(2 * kMillisecond, flag);
    CHECK(cudaStreamSynchronize(a));
    puts("{\"lasts\": [\"kernel spin\", [0, 2, 2]]}");
    puts("{\"gap\": [\"kernel spin\", 1, 10]}");
    puts("{\"blocked\": 4}");
  }
  return 0;
}
