// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// The second synchronisation has nothing to wait for.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t s) {
  work<<<1, 256, 0, s>>>(x);
  cudaStreamSynchronize(s);
#ifndef FIXED
  cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize on stream 's' is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-4]]:3: note: cudaStreamSynchronize has waited for the same work here
#endif
}
