// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits for an event and asks for the time between two: the wait is needed for that.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: sync timing: cudaEventSynchronize ([[SYNC]]) is needed for timing only.
// CHECK: Why: cudaEventElapsedTime measures the time up to an event that it waits for.
// CHECK: 1 timing
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  cudaEvent_t start, stop;
  must(cudaEventCreate(&start));
  must(cudaEventCreate(&stop));
  must(cudaEventRecord(start, stream));
  run_set(stream, a, 1);
  must(cudaEventRecord(stop, stream));
  must(cudaEventSynchronize(stop));  // @SYNC
  float milliseconds;
  must(cudaEventElapsedTime(&milliseconds, start, stop));
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
