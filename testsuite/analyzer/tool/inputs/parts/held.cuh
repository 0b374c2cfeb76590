// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A template that no source calls: those that make something of it hand it to others.
#include "parts.cuh"

template <typename Number>
void fill_and_read(Number* sum) {
  float* data;
  cudaStream_t s1, s2;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaStreamCreate(&s1);
  cudaStreamCreate(&s2);
  fill(data, s1);
  consume<<<1, 1, 0, s2>>>(data, sum);
  cudaDeviceSynchronize();
}
