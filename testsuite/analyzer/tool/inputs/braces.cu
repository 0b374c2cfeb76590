// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As racy.cu, in a spelling that only nvcc reads.
#include "kernels.cuh"

void step(unsigned x, unsigned y) {
  float* data;
  float* sum;
  cudaStream_t s1, s2;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaMalloc(&sum, sizeof(float));
  cudaStreamCreate(&s1);
  cudaStreamCreate(&s2);
  produce<<<1, {x, y, 1}, 0, s1>>>(data);
  consume<<<{1, 1}, {1}, 0, s2>>>(data, sum);
  cudaStreamSynchronize(s1);
  cudaStreamSynchronize(s2);
  cudaFree(sum);
  cudaFree(data);
}
