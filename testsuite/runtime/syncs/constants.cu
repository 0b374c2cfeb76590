// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that reads a constant of its module, which the host has copied there in another stream. The twin reads none.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: %syncs %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: it is not known what memory is used by kernel scale(float*) ([[SCALE]]) besides what the arguments lead to (module variables, constants,
// TWIN: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
#include "syncs.h"

__constant__ float factor;

__global__ void scale(float* out) {
#ifdef TWIN
  *out *= 2;
#else
  *out *= factor;
#endif
}

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *host = pinned_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  run_set(s1, a, 1);
  must(cudaMemcpyAsync(b, host, sizeof *host, cudaMemcpyHostToDevice, s2));
  must(cudaStreamSynchronize(s2));  // @SYNC
  scale<<<1, 1, 0, s1>>>(a);  // @SCALE
  must(cudaStreamSynchronize(s1));
  finish(s2, b, 0);
}
