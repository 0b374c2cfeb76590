// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime.h>

float first(const float* data, cudaStream_t s) {
  float* copy = nullptr;
  cudaMallocHost(&copy, 256 * sizeof(float));
  cudaMemcpyAsync(copy, data, 256 * sizeof(float), cudaMemcpyDeviceToHost, s);
  float result = copy[0];
  cudaStreamSynchronize(s);
  cudaFreeHost(copy);
  return result;
}
