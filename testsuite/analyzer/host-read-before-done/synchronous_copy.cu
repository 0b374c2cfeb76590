// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
//
// cudaMemcpy from the device returns when the host memory is written: silent.
#include <cuda_runtime.h>

__global__ void reduce(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

float sum(const float* in, float* d_total) {
  float total = 0.0f;
  reduce<<<1, 256>>>(in, d_total);
  cudaMemcpy(&total, d_total, sizeof(float), cudaMemcpyDeviceToHost);
  return total;
}

float sum_pinned(const float* in, float* d_total) {
  float* total = nullptr;
  cudaMallocHost(&total, sizeof(float));
  reduce<<<1, 256>>>(in, d_total);
  cudaMemcpy(total, d_total, sizeof(float), cudaMemcpyDeviceToHost);
  const float result = *total;
  cudaFreeHost(total);
  return result;
}
