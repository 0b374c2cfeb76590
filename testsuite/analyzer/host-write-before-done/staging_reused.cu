// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// One pinned staging buffer, filled again while the first upload may still read it.
#include <cuda_runtime.h>

#include <cstring>

void upload_two(float* d_a, float* d_b, const float* a, const float* b, size_t bytes) {
  cudaStream_t stream;
  float* staging = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&staging, bytes);
  std::memcpy(staging, a, bytes);
  cudaMemcpyAsync(d_a, staging, bytes, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  std::memcpy(staging, b, bytes);  // FIRES: host-write-before-done
  cudaMemcpyAsync(d_b, staging, bytes, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
  cudaStreamDestroy(stream);
}
