// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
//
// cudaMallocAsync from a pool is made for this: silent.
#include <cuda_runtime.h>

__global__ void step(float* x, float* scratch) { scratch[threadIdx.x] = x[threadIdx.x]; }

void simulate(float* x, int steps, size_t bytes, cudaStream_t s) {
  for (int i = 0; i < steps; ++i) {
    float* scratch = nullptr;
    cudaMallocAsync(&scratch, bytes, s);
    step<<<1, 256, 0, s>>>(x, scratch);
    cudaFreeAsync(scratch, s);
  }
}
