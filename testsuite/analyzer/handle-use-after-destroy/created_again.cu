// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check handle-use-after-destroy %s
//
// A variable whose handle is created anew is alive again; one destroyed on an error path only is not judged: silent.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void again(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  work<<<1, 256, 0, s>>>(x);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
  cudaStreamCreate(&s);
  work<<<1, 256, 0, s>>>(x);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}

void error_path(float* x) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  work<<<1, 256, 0, s>>>(x);
  if (cudaGetLastError() != cudaSuccess) {
    cudaStreamDestroy(s);
    return;
  }
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}
