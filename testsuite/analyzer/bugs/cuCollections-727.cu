// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// NVIDIA/cuCollections#727, OS: eight bytes come back through pageable memory and stall the other streams.
#include <cuda_runtime.h>

__global__ void count_filled(const int* slots, unsigned long long* count) {
  if (slots[threadIdx.x] >= 0) atomicAdd(count, 1ull);
}

unsigned long long size(const int* slots, unsigned long long* d_count, cudaStream_t stream) {
  cudaMemsetAsync(d_count, 0, sizeof(*d_count), stream);
  count_filled<<<1, 256, 0, stream>>>(slots, d_count);
#ifdef FIXED
  unsigned long long* count = nullptr;
  cudaMallocHost(&count, sizeof(*count));
  cudaMemcpyAsync(count, d_count, sizeof(*count), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  const unsigned long long result = *count;
  cudaFreeHost(count);
  return result;
#else
  unsigned long long count = 0;
  cudaMemcpyAsync(&count, d_count, sizeof(count), cudaMemcpyDeviceToHost, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'stream' of pageable memory 'count' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE-2]]:3: note: use pinned memory, from cudaMallocHost
  cudaStreamSynchronize(stream);
  return count;
#endif
}
