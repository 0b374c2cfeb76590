// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads allocate and free as fast as they can, and addresses go from one to another. With --poison what is alive keeps
// its contents: no fill comes too late or is too long. Frees that fail fill nothing. The program is correct, and silent.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:poison=1 %silent %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:poison=1 STREAMSAN_NULL_COUNTS=%t.driver %t
// RUN: %filecheck %s --input-file %t.driver
//
// 1,200 stream-ordered allocations and frees, 600 frees of device memory, 1,200 fills of the program.
// CHECK: cuMemsetD8Async 4200
#include <cstring>
#include <thread>
#include <vector>

#include "must.h"

static void expect(const char* at, size_t bytes, int value) {
  for (size_t i = 0; i < bytes; ++i) {
    if (at[i] == static_cast<char>(value)) continue;
    std::fprintf(stderr, "byte %zu is %d, not %d\n", i, at[i], value);
    std::_Exit(98);
  }
}

static void work(int number) {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 150; ++i) {
    const int value = number * 10 + i % 10;
    const size_t bytes = 64 + 97 * static_cast<size_t>(i % 40);
    char *device, *host, *pooled[2];
    must(cudaMalloc(&device, bytes));
    must(cudaMallocHost(&host, bytes));
    std::memset(device, value, bytes);
    std::memset(host, value, bytes);
    for (char*& one : pooled) {
      must(cudaMallocAsync(&one, bytes, stream));
      must(cudaMemsetAsync(one, value, bytes, stream));
    }
    // None of these is the start of such an allocation.
    if (cudaFree(device + 1) == cudaSuccess || cudaFreeHost(host + 1) == cudaSuccess) std::_Exit(97);
    must(cudaStreamSynchronize(stream));
    for (const char* at : {device, host, pooled[0], pooled[1]}) expect(at, bytes, value);
    for (char* one : pooled) must(cudaFreeAsync(one, stream));
    must(cudaStreamSynchronize(stream));
    must(cudaFree(device));
    must(cudaFreeHost(host));
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& thread : threads) thread.join();
}
