// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The second name of the buffer is a copy of the pointer; the swapped pointers are followed too.
#include <cuda_runtime.h>

#include <utility>

__global__ void smooth(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void jacobi(float* a, float* b, size_t bytes, float* snapshot) {
  cudaStream_t compute, copy;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  float* current = a;
  float* next = b;
  smooth<<<1, 256, 0, compute>>>(current, next);
  std::swap(current, next);
#ifdef FIXED
  cudaMemcpyAsync(snapshot, next, bytes, cudaMemcpyDeviceToDevice, copy);
#else
  cudaMemcpyAsync(snapshot, current, bytes, cudaMemcpyDeviceToDevice, copy);  // FIRES: cross-stream-race
#endif
  cudaStreamSynchronize(copy);
  cudaStreamSynchronize(compute);
}
