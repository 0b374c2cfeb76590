// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// An asynchronous copy from a std::vector blocks or is staged: it does not overlap.
#include <cuda_runtime.h>

#include <vector>

void upload(float* device, const std::vector<float>& values, cudaStream_t s) {
#ifdef FIXED
  cudaMemcpy(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice);
#else
  cudaMemcpyAsync(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 's' of pageable memory 'values' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE-2]]:3: note: use pinned memory, from cudaMallocHost
#endif
  cudaStreamSynchronize(s);
}
