// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One race in any case, and one with -DOTHER.
#include "kernels.cuh"

void always(float* sum) {
  float* data;
  cudaStream_t s1, s2;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaStreamCreate(&s1);
  cudaStreamCreate(&s2);
  produce<<<1, 32, 0, s1>>>(data);
  consume<<<1, 1, 0, s2>>>(data, sum);
}

#ifdef OTHER
void other(float* data, float* sum) {
  cudaStream_t s1, s2;
  cudaStreamCreate(&s1);
  cudaStreamCreate(&s2);
  produce<<<1, 32, 0, s1>>>(data);
  consume<<<1, 1, 0, s2>>>(data, sum);
}
#endif
