// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
// RUN: %check alloc-in-loop %s -- -DFIXED
//
// In a while loop, with an error check macro around it.
#include <cuda_runtime.h>

#include <cstdlib>

#define CHECK(call) \
  if ((call) != cudaSuccess) std::abort()

__global__ void step(float* x, int* flag) { *flag = x[0] > 0.0f; }

void run(float* x, int n) {
  int* flag = nullptr;
#ifdef FIXED
  CHECK(cudaMalloc(&flag, sizeof(int)));
#endif
  while (n-- > 0) {
#ifndef FIXED
    CHECK(cudaMalloc(&flag, sizeof(int)));
// CHECK-MESSAGES: :[[@LINE-1]]:11: warning: cudaMalloc of 'flag' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-4]]:10: note: the loop is here
// CHECK-NOTES: :[[@LINE-3]]:11: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
    step<<<1, 1>>>(x, flag);
  }
  CHECK(cudaFree(flag));
}
