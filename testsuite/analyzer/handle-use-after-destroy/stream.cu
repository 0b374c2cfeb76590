// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// A launch into a stream that was destroyed.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
#ifdef FIXED
  work<<<1, 256, 0, s>>>(x);
  cudaStreamDestroy(s);
#else
  cudaStreamDestroy(s);
  work<<<1, 256, 0, s>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 's' is used by kernel 'work' after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-3]]:3: note: stream 's' is destroyed here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 's' is created here
#endif
  cudaDeviceSynchronize();
}
