// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The early return leaves before any conflict; the fall-through path races.
#include <cuda_runtime.h>

__global__ void produce(float* out, int n) { out[threadIdx.x] = n; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

int run(float* data, float* result, int n) {
  cudaStream_t a, b;
  if (cudaStreamCreate(&a) != cudaSuccess) return -1;
  if (cudaStreamCreate(&b) != cudaSuccess) {
    cudaStreamDestroy(a);
    return -1;
  }
  produce<<<1, 256, 0, a>>>(data, n);
  if (cudaGetLastError() != cudaSuccess) {
    cudaStreamSynchronize(a);
    return -2;
  }
#ifdef FIXED
  if (cudaStreamSynchronize(a) != cudaSuccess) return -3;
#endif
  consume<<<1, 256, 0, b>>>(data, result);  // FIRES: cross-stream-race
  return cudaStreamSynchronize(b) == cudaSuccess ? 0 : -4;
}
