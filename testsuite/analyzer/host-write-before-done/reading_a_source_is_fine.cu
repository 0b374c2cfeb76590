// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
//
// The host may read what a copy only reads, and write elsewhere: silent.
#include <cuda_runtime.h>

float peek(float* device, size_t n) {
  cudaStream_t stream;
  float *source = nullptr, *other = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&source, n * sizeof(float));
  cudaMallocHost(&other, n * sizeof(float));
  source[0] = 1.0f;
  cudaMemcpyAsync(device, source, n * sizeof(float), cudaMemcpyHostToDevice, stream);
  const float same = source[0];
  other[0] = 2.0f;
  cudaStreamSynchronize(stream);
  source[0] = 3.0f;
  cudaFreeHost(source);
  cudaFreeHost(other);
  return same;
}
