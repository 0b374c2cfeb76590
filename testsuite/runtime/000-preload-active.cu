// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First of all: the recorder is there, and sees every call. Each call the driver received stands in the trace, counted
// by the driver itself and read from the trace by a reader of our own; and the judge counts as many operations as the
// program has. Without this, every silent test of the suite could be silent because nothing was watching.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace STREAMSAN_NULL_COUNTS=%t.driver %t
// RUN: %trace_counts %t.trace > %t.recorded
// RUN: %filecheck %s --check-prefix=RECORDED --input-file %t.recorded
// RUN: %if nulldriver %{ %python %inputs/same_counts.py %t.driver %t.recorded %}
// RUN: %expect 0 %streamsan run --json %t.json -- %t
// RUN: %json %t.json | %filecheck %s
//
// RECORDED-DAG: cuMemcpyHtoDAsync_v2 5
// RECORDED-DAG: cuMemsetD8Async 7
// RECORDED-DAG: cuLaunchKernel{{(Ex)?}} 11
// RECORDED-DAG: cuEventRecord 2
// RECORDED-DAG: cuStreamWaitEvent 3
// RECORDED-DAG: cuStreamCreate 2
// CHECK: summary.operations = 28
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t event;
  must(cudaEventCreate(&event));
  for (int i = 0; i < 5; ++i) must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));
  for (int i = 0; i < 7; ++i) must(cudaMemsetAsync(buffer, i, kBytes, s1));
  for (int i = 0; i < 2; ++i) must(cudaEventRecord(event, s1));
  for (int i = 0; i < 3; ++i) must(cudaStreamWaitEvent(s2, event));
  for (int i = 0; i < 11; ++i) consume<<<1, 32, 0, s2>>>(buffer);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
