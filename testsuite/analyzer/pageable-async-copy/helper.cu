// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// The helper cannot know; its caller gives it a vector.
#include <cuda_runtime.h>

#include <vector>

static void upload(float* device, const float* host, size_t n, cudaStream_t s) {
  cudaMemcpyAsync(device, host, n * sizeof(float), cudaMemcpyHostToDevice, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 's' of pageable memory 'values' may block the host and does not overlap with other work [streamsan-pageable-async-copy]
// CHECK-NOTES: :[[@LINE+14]]:3: note: in the call to 'upload' here
// CHECK-NOTES: :[[@LINE+12]]:22: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: use pinned memory, from cudaMallocHost
}

void run(float* device, size_t n, cudaStream_t s) {
#ifdef FIXED
  float* values = nullptr;
  cudaMallocHost(&values, n * sizeof(float));
  upload(device, values, n, s);
  cudaStreamSynchronize(s);
  cudaFreeHost(values);
#else
  std::vector<float> values(n);
  upload(device, values.data(), n, s);
  cudaStreamSynchronize(s);
#endif
}
