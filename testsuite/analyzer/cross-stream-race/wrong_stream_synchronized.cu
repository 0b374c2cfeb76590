// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The host waits for the other stream.
#include <cuda_runtime.h>

__global__ void sort_keys(int* keys) { keys[threadIdx.x] = threadIdx.x; }
__global__ void search(const int* keys, int* found) { found[threadIdx.x] = keys[threadIdx.x]; }

void lookup(int* keys, int* found) {
  cudaStream_t sorter, searcher;
  cudaStreamCreateWithFlags(&sorter, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&searcher, cudaStreamNonBlocking);
  sort_keys<<<1, 256, 0, sorter>>>(keys);
#ifdef FIXED
  cudaStreamSynchronize(sorter);
#else
  cudaStreamSynchronize(searcher);
#endif
  search<<<1, 256, 0, searcher>>>(keys, found);  // FIRES: cross-stream-race
  cudaStreamSynchronize(searcher);
  cudaStreamSynchronize(sorter);
}
