// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Code that is not known gets a stream or may wait for everything: nothing is certain any more, silent.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void link_streams(cudaStream_t before, cudaStream_t after);
void finish_everything();

void given_away(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
  link_streams(a, b);
  consume<<<1, 256, 0, b>>>(data, out);
  cudaStreamSynchronize(b);
}

void may_synchronise(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
  finish_everything();
  consume<<<1, 256, 0, b>>>(data, out);
  cudaStreamSynchronize(b);
}
