// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
//
// A function that knows no stream, or only uses the default stream, is left alone.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void simple(float* x) {
  work<<<1, 256>>>(x);
  cudaMemsetAsync(x, 0, 1024);
  cudaDeviceSynchronize();
}

void by_name(float* x) {
  cudaStream_t stream = 0;
  work<<<1, 256, 0, stream>>>(x);
}

void all_given(float* x, cudaStream_t stream) { work<<<1, 256, 0, stream>>>(x); }
