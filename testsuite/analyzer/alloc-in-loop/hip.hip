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
    (void)hipMalloc(reinterpret_cast<void**>(&scratch), bytes);  // FIRES: alloc-in-loop
#endif
    step<<<1, 256>>>(x, scratch);
#ifndef FIXED
    (void)hipFree(scratch);  // FIRES: alloc-in-loop
#endif
  }
#ifdef FIXED
  (void)hipFree(scratch);
#endif
}
