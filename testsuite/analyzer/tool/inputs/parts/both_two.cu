// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "both.cuh"

void step_two() {
  float *data_two, *sum_two;
  cudaStream_t first_two, second_two;
  cudaMalloc(&data_two, 32 * sizeof(float));
  cudaMalloc(&sum_two, sizeof(float));
  cudaStreamCreate(&first_two);
  cudaStreamCreate(&second_two);
  fill_and_use(data_two, sum_two, first_two, second_two);
  cudaDeviceSynchronize();
}
