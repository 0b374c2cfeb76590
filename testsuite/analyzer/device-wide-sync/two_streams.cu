// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// Two known streams: the message names both, there is no single replacement.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, float* y) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  work<<<1, 256, 0, a>>>(x);
  work<<<1, 256, 0, b>>>(y);
#ifdef FIXED
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
#else
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize waits for the whole device where only streams 'a' and 'b' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-2]]:3: note: wait for each of them with cudaStreamSynchronize, or for an event in each
#endif
}
