// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "both.cuh"

void step_one() {
  float *data_one, *sum_one;
  cudaStream_t first_one, second_one;
  cudaMalloc(&data_one, 32 * sizeof(float));
  cudaMalloc(&sum_one, sizeof(float));
  cudaStreamCreate(&first_one);
  cudaStreamCreate(&second_one);
  fill_and_use(data_one, sum_one, first_one, second_one);
  cudaDeviceSynchronize();
}
