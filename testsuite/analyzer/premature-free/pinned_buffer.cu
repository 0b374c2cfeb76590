// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// cudaFreeHost while a copy reads the buffer.
#include <cuda_runtime.h>

void upload(float* device, const float* values, int n, cudaStream_t stream) {
  float* staging = nullptr;
  cudaMallocHost(&staging, n * sizeof(float));
  for (int i = 0; i < n; ++i) staging[i] = values[i];
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  cudaFreeHost(staging);  // FIRES: premature-free
}
