// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// A stream that may be the producer's own is not certain to be another one: silent.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out, bool overlap) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaStream_t chosen = overlap ? b : a;
  produce<<<1, 256, 0, a>>>(data);
  consume<<<1, 256, 0, chosen>>>(data, out);
  cudaDeviceSynchronize();
}

void by_index(const cudaStream_t* streams, int i, int j, float* data, float* out) {
  produce<<<1, 256, 0, streams[i]>>>(data);
  consume<<<1, 256, 0, streams[j]>>>(data, out);
}
