// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
// RUN: %check alloc-in-loop %s -- -DFIXED
//
// hipMalloc in a loop.
#include <hip/hip_runtime.h>

__global__ void step(float* x, float* scratch) { scratch[threadIdx.x] = x[threadIdx.x]; }

void simulate(float* x, int steps, size_t bytes) {
  float* scratch = nullptr;
#ifdef FIXED
  (void)hipMalloc(reinterpret_cast<void**>(&scratch), bytes);
#endif
  for (int i = 0; i < steps; ++i) {
#ifndef FIXED
    (void)hipMalloc(reinterpret_cast<void**>(&scratch), bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:11: warning: hipMalloc of 'scratch' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:11: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
    step<<<1, 256>>>(x, scratch);
#ifndef FIXED
    (void)hipFree(scratch);
// CHECK-MESSAGES: :[[@LINE-1]]:11: warning: hipFree of 'scratch' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:11: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
  }
#ifdef FIXED
  (void)hipFree(scratch);
#endif
}
