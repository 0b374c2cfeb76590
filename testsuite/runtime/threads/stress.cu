// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight threads, a thousand rounds each, every thread with a stream and a buffer of its own: silent, and every call is
// in the trace exactly once. Handles and addresses move between threads all the time (create, destroy, allocate, free).
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %trace_counts %t.trace | %filecheck %s
//
// CHECK-DAG: cuMemsetD8Async 8000
// CHECK-DAG: cuMemcpyHtoDAsync_v2 8000
// CHECK-DAG: cuEventCreate 8000
// CHECK-DAG: cuEventDestroy_v2 8000
// CHECK-DAG: cuEventRecord 8000
// CHECK-DAG: cuStreamSynchronize 8000
// CHECK-DAG: cuLaunchKernel{{(Ex)?}} 8000
// CHECK-DAG: cuStreamCreate 8
#include <thread>
#include <vector>

#include "must.h"

__global__ void consume(const char*) {}

void work() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 1000; ++i) {
    cudaEvent_t event;
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    must(cudaMemsetAsync(buffer, i, kBytes, stream));
    must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, stream));
    consume<<<1, 32, 0, stream>>>(buffer);
    must(cudaEventRecord(event, stream));
    must(cudaStreamSynchronize(stream));
    must(cudaEventDestroy(event));
  }
  must(cudaFree(buffer));
  must(cudaGetLastError());
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}
