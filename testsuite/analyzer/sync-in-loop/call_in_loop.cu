// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
// RUN: %check sync-in-loop %s -- -DFIXED
//
// What else the loop calls may be the reason to wait: silent when it is other code, told when it is none.
#include <cuda_runtime.h>

void report(int step);

__global__ void step(float* x) { x[threadIdx.x] += 1.0f; }

void with_report(float* x, int steps, cudaStream_t s) {
  for (int i = 0; i < steps; ++i) {
    step<<<1, 256, 0, s>>>(x);
    cudaStreamSynchronize(s);
    report(i);
  }
}

void without(float* x, int steps, cudaStream_t s) {
  for (int i = 0; i < steps; ++i) {
    step<<<1, 256, 0, s>>>(x);
#ifndef FIXED
    cudaStreamSynchronize(s);  // FIRES: sync-in-loop
#endif
  }
  cudaStreamSynchronize(s);
}
