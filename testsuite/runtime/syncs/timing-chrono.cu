// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits and then reads a clock (clock_gettime): the wait is needed for the time that is measured, and for
// nothing else.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: sync timing: cudaStreamSynchronize ([[SYNC]]) is needed for timing only.
// CHECK: Why: clock_gettime() is called right after it.
// CHECK: 1 timing
#include <chrono>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @SYNC
  {
    const auto now = std::chrono::steady_clock::now();
    (void)now;
  }
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
