// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
// RUN: %check sync-in-loop %s -- -DFIXED
//
// The whole device in a while loop.
#include <cuda_runtime.h>

__global__ void step(float* x) { x[threadIdx.x] += 1.0f; }

void simulate(float* x, int steps) {
  while (steps-- > 0) {
    step<<<1, 256>>>(x);
#ifndef FIXED
    cudaDeviceSynchronize();  // FIRES: sync-in-loop
#endif
  }
  cudaDeviceSynchronize();
}
