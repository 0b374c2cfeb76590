// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// eth-cscs/DLA-Future#784, OS: "asynchronous" copy of a scalar into a stack variable: in fact it blocks.
#include <cuda_runtime.h>

#include <vector>

void deflation_sizes(const int* d_sizes, std::vector<int>& permutation, cudaStream_t stream) {
#ifdef FIXED
  int* size = nullptr;
  cudaHostAlloc(&size, sizeof(int), cudaHostAllocDefault);
  cudaMemcpyAsync(size, d_sizes, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  permutation.resize(*size);
  cudaFreeHost(size);
#else
  int size = 0;
  cudaMemcpyAsync(&size, d_sizes, sizeof(int), cudaMemcpyDeviceToHost, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'stream' of pageable memory 'size' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE-2]]:3: note: use pinned memory, from cudaMallocHost
  cudaStreamSynchronize(stream);
  permutation.resize(size);
#endif
}
