// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.cuh"

void ordered_step() {
  float* data;
  float* sum;
  cudaStream_t s1, s2;
  cudaEvent_t done;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaMalloc(&sum, sizeof(float));
  cudaStreamCreate(&s1);
  cudaStreamCreate(&s2);
  cudaEventCreate(&done);
  produce<<<1, 32, 0, s1>>>(data);
  cudaEventRecord(done, s1);
  cudaStreamWaitEvent(s2, done, 0);
  consume<<<1, 1, 0, s2>>>(data, sum);
  cudaStreamSynchronize(s2);
  cudaFree(sum);
  cudaFree(data);
}
