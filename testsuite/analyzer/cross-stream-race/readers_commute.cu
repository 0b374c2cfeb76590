// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Two streams that only read the same buffer do not race; two atomic accumulators do not either.
#include <cuda_runtime.h>

__global__ void minimum(const float* in, float* out) { out[0] = in[threadIdx.x]; }
__global__ void maximum(const float* in, float* out) { out[0] = in[threadIdx.x]; }
__global__ void count_low(const float* in, int* counter) { if (in[threadIdx.x] < 0) atomicAdd(counter, 1); }
__global__ void count_high(const float* in, int* counter) { if (in[threadIdx.x] > 1) atomicAdd(counter, 1); }

void statistics(const float* data, float* low, float* high, int* counter) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  minimum<<<1, 256, 0, a>>>(data, low);
  maximum<<<1, 256, 0, b>>>(data, high);
  count_low<<<1, 256, 0, a>>>(data, counter);
  count_high<<<1, 256, 0, b>>>(data, counter);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
