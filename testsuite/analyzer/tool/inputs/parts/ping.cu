// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ping.cu and pong.cu call each other: whichever is first, the other one's function is not known yet.
#include "parts.cuh"

void pong(float* data, cudaStream_t stream);

void ping(float* data, cudaStream_t stream) { produce<<<1, 32, 0, stream>>>(data); }

void ping_and_read(float* sum) {
  float* data;
  cudaStream_t s1, s2;
  cudaMalloc(&data, 32 * sizeof(float));
  cudaStreamCreate(&s1);
  cudaStreamCreate(&s2);
  pong(data, s1);
  consume<<<1, 1, 0, s2>>>(data, sum);
  cudaDeviceSynchronize();
}
