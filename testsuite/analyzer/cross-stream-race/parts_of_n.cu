// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// n elements, and what begins n elements later: apart, whatever n is. With one element more they meet.
#include <cuda_runtime.h>

void upload(float* device, const float* pinned, size_t n) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  cudaMemcpyAsync(device, pinned, n * sizeof(float), cudaMemcpyHostToDevice, a);
#else
  cudaMemcpyAsync(device, pinned, (n + 1) * sizeof(float), cudaMemcpyHostToDevice, a);
#endif
  cudaMemcpyAsync(device + n, pinned + n, n * sizeof(float), cudaMemcpyHostToDevice, b);  // FIRES: cross-stream-race
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
