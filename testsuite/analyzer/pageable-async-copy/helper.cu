// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check pageable-async-copy %s
// RUN: %check pageable-async-copy %s -- -DFIXED
//
// The helper cannot know; its caller gives it a vector.
#include <cuda_runtime.h>

#include <vector>

static void upload(float* device, const float* host, size_t n, cudaStream_t s) {
  cudaMemcpyAsync(device, host, n * sizeof(float), cudaMemcpyHostToDevice, s);  // FIRES: pageable-async-copy
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
