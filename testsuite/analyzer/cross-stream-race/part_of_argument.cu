// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Where a kernel begins may be one of its arguments. Two kernels that are given the same meet; with two that are not
// known to be one, each may have a part of its own.
#include <cuda_runtime.h>

#include "mock_device.h"

__global__ void encode(float* samples, int first, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) samples[first + i] += 1.0f;
}

__global__ void decode(float* samples, int first, int count) {
  float* mine = samples + first;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine[i] -= 1.0f;
}

void two_halves(float* samples, int half) {
  cudaStream_t left, right;
  cudaStreamCreate(&left);
  cudaStreamCreate(&right);
  encode<<<64, 256, 0, left>>>(samples, half, half);
#ifndef FIXED
  decode<<<64, 256, 0, right>>>(samples, half, half);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'decode' on stream 'right' may update 'samples' while kernel 'encode' on stream 'left' still updates it [streamsan-cross-stream-race]
#else
  decode<<<64, 256, 0, right>>>(samples, 0, half);
#endif
  cudaDeviceSynchronize();
  cudaStreamDestroy(left);
  cudaStreamDestroy(right);
}
