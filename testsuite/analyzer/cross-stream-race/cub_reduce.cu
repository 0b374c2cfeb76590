// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A CUB reduction on another stream than the kernel that fills its input.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

__global__ void square(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x]; }

void norm(const float* x, float* squares, float* sum, void* temporary, size_t bytes, int n) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  square<<<1, 256, 0, a>>>(x, squares);
#ifdef FIXED
  cub::DeviceReduce::Sum(temporary, bytes, squares, sum, n, a);
#else
  cub::DeviceReduce::Sum(temporary, bytes, squares, sum, n, b);  // FIRES: cross-stream-race
#endif
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
