// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two clears of one buffer on two streams: which one wins is open when a kernel writes in between.
#include <cuda_runtime.h>

__global__ void histogram(const int* keys, int* bins) { bins[keys[threadIdx.x]] = 1; }

void rebuild(const int* keys, int* bins, size_t bytes) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaMemsetAsync(bins, 0, bytes, a);
#ifdef FIXED
  histogram<<<1, 256, 0, a>>>(keys, bins);
#else
  histogram<<<1, 256, 0, b>>>(keys, bins);  // FIRES: cross-stream-race
#endif
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
