// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel prints comes out where the host waits. The twin does not print.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: %syncs %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: kernel greet(float*) ([[GREET]]) prints: its output appears when the host waits.
// TWIN: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
#include "syncs.h"

__global__ void greet(float* out) {
#ifndef TWIN
  printf("value %g\n", 1.0);
#endif
  *out = 1;
}

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  greet<<<1, 1, 0, stream>>>(a);  // @GREET
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_set(stream, a, 2);
  finish(stream, a, 2);
}
