// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
// RUN: %check alloc-in-loop %s -- -DFIXED
//
// A buffer of constant size is allocated and freed in every iteration.
#include <cuda_runtime.h>

__global__ void step(float* x, float* scratch) { scratch[threadIdx.x] = x[threadIdx.x]; }

void simulate(float* x, int steps, size_t bytes) {
  float* scratch = nullptr;
#ifdef FIXED
  cudaMalloc(&scratch, bytes);
#endif
  for (int i = 0; i < steps; ++i) {
#ifndef FIXED
    cudaMalloc(&scratch, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMalloc of 'scratch' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
    step<<<1, 256>>>(x, scratch);
#ifndef FIXED
    cudaFree(scratch);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaFree of 'scratch' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
  }
#ifdef FIXED
  cudaFree(scratch);
#endif
}
