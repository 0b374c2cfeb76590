// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
//
// With blocking streams the legacy stream is a barrier in both directions: silent. So is a parameter of unknown kind.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void blocking(float* data, float* out, float* h) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMemset(data, 0, 1024);
  produce<<<1, 256, 0, s>>>(data);
  consume<<<1, 256>>>(data, out);
  produce<<<1, 256, 0, s>>>(data);
  cudaMemcpy(h, data, 1024, cudaMemcpyDeviceToHost);
  cudaStreamDestroy(s);
}

void unknown_kind(float* data, float* out, cudaStream_t s) {
  produce<<<1, 256, 0, s>>>(data);
  consume<<<1, 256>>>(data, out);
}
