// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The loop fills the staging buffer for batch n+1 while batch n may still be uploaded.
#include <cuda_runtime.h>

__global__ void train(const float* batch) {}

void epoch(const float* dataset, float* d_batch, int batches, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  float* staging = nullptr;
  cudaHostAlloc(&staging, n * sizeof(float), cudaHostAllocDefault);
  for (int b = 0; b < batches; ++b) {
    for (int i = 0; i < n; ++i) staging[i] = dataset[b * n + i];  // FIRES: host-write-before-done
    cudaMemcpyAsync(d_batch, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
    train<<<1, 256, 0, stream>>>(d_batch);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
}
