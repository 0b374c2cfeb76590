// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wide.cuh"

void two() {
  float* data;
  cudaStream_t s;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaStreamCreate(&s);
  produce<<<1, 32, 0, s>>>(data);
  cudaDeviceSynchronize();
  cudaFree(data);
}
