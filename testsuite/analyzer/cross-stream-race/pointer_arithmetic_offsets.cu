// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Chunks of one buffer at i * n: each stream has its own part in copy, kernel and copy back, silent.
#include <cuda_runtime.h>

__global__ void work(float* chunk) { chunk[threadIdx.x] += 1.0f; }

void chunked(float* device, float* pinned, cudaStream_t* streams, int count, int n) {
  for (int i = 0; i < count; ++i) {
    const int offset = i * n;
    cudaMemcpyAsync(&device[offset], &pinned[offset], n * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
    work<<<1, 256, 0, streams[i]>>>(device + offset);
    cudaMemcpyAsync(&pinned[offset], &device[offset], n * sizeof(float), cudaMemcpyDeviceToHost, streams[i]);
  }
  for (int i = 0; i < count; ++i) cudaStreamSynchronize(streams[i]);
}

void breadth_first(float* device, float* pinned, int n) {
  cudaStream_t streams[4];
  for (int i = 0; i < 4; ++i) cudaStreamCreate(&streams[i]);
  for (int i = 0; i < 4; ++i) {
    cudaMemcpyAsync(device + i * n, pinned + i * n, n * sizeof(float), cudaMemcpyHostToDevice, streams[i]);
  }
  for (int i = 0; i < 4; ++i) work<<<1, 256, 0, streams[i]>>>(device + i * n);
  for (int i = 0; i < 4; ++i) {
    cudaMemcpyAsync(pinned + i * n, device + i * n, n * sizeof(float), cudaMemcpyDeviceToHost, streams[i]);
  }
  cudaDeviceSynchronize();
}
