// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// cudaMemset is asynchronous and on the default stream.
#include <cuda_runtime.h>

__global__ void count(const int* keys, int* bins) { atomicAdd(&bins[keys[threadIdx.x]], 1); }

void histogram(const int* keys, size_t bytes) {
  cudaStream_t side;
  int* bins = nullptr;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaMalloc(&bins, bytes);
#ifdef FIXED
  cudaMemsetAsync(bins, 0, bytes, side);
#else
  cudaMemset(bins, 0, bytes);
#endif
  count<<<4, 256, 0, side>>>(keys, bins);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
  cudaFree(bins);
}
