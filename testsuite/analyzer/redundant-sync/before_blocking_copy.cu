// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// The blocking copy on the same stream waits by itself.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

float run(float* x) {
  float first = 0.0f;
  work<<<1, 256>>>(x);
#ifdef FIXED
  cudaMemcpy(&first, x, sizeof(first), cudaMemcpyDeviceToHost);
#else
  cudaStreamSynchronize(0);
  cudaMemcpy(&first, x, sizeof(first), cudaMemcpyDeviceToHost);
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: cudaStreamSynchronize on the default stream is not needed: cudaMemcpy (device to host) waits for the same work [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-2]]:3: note: cudaMemcpy (device to host) is called here
#endif
  return first;
}
