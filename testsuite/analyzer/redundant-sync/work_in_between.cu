// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
//
// New work, another stream, an unknown call, or only one path: needed, silent.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void more();

void between(float* x, cudaStream_t a, cudaStream_t b, bool again) {
  work<<<1, 256, 0, a>>>(x);
  cudaStreamSynchronize(a);
  work<<<1, 256, 0, a>>>(x);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
  more();
  cudaStreamSynchronize(a);
  if (again) work<<<1, 256, 0, a>>>(x);
  cudaStreamSynchronize(a);
}
