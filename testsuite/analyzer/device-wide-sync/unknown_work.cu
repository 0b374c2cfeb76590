// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
//
// What else may be running is not known, or the default stream alone is used: silent.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void start_background_work();

void unknown_callee(float* x, cudaStream_t s) {
  start_background_work();
  work<<<1, 256, 0, s>>>(x);
  cudaDeviceSynchronize();
}

void only_a_sync() { cudaDeviceSynchronize(); }
