// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// The same function as one_branch.cu: silent by default, as another path does order the two.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* result, bool careful) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
  if (careful) cudaStreamSynchronize(a);
  consume<<<1, 256, 0, b>>>(data, result);
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
