// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
//
// cudaMemset of pinned host memory waits; what a parameter points to is not known: a maybe, silent by default.
#include <cuda_runtime.h>

__global__ void count(const int* keys, int* bins) { atomicAdd(&bins[keys[threadIdx.x]], 1); }

void histogram(const int* keys, int* bins, size_t bytes) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaMemset(bins, 0, bytes);
  count<<<4, 256, 0, side>>>(keys, bins);
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
}
