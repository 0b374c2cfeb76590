// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
// RUN: %check handle-use-after-destroy %s -- -DFIXED
//
// Destroyed in the loop body, used again in the next iteration.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void per_iteration(float* x, int n) {
  for (int i = 0; i < n; ++i) {
    cudaStream_t s;
    cudaStreamCreate(&s);
    work<<<1, 256, 0, s>>>(x);
    cudaStreamSynchronize(s);
    cudaStreamDestroy(s);
  }
}

void all_at_the_end(float* x, float* y, int n) {
  cudaStream_t streams[2];
  cudaStreamCreate(&streams[0]);
  cudaStreamCreate(&streams[1]);
  for (int i = 0; i < n; ++i) work<<<1, 256, 0, streams[0]>>>(x);
  cudaStreamDestroy(streams[0]);
#ifndef FIXED
  work<<<1, 256, 0, streams[0]>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'streams[0]' is used by kernel 'work' after it was destroyed [streamsan-handle-use-after-destroy]
// CHECK-NOTES: :[[@LINE-4]]:3: note: stream 'streams[0]' is destroyed here
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'streams[0]' is created here
#endif
  work<<<1, 256, 0, streams[1]>>>(y);
  cudaStreamDestroy(streams[1]);
}
