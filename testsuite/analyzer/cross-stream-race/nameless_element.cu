// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Which bin it is is not known, but it is one bin: what is read from a place without a name is followed.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

void turn(float** bins, int& next, int count) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  float* bin = bins[next++ % count];
  fill<<<1, 32, 0, a>>>(bin);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  use<<<1, 32, 0, b>>>(bin);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
}
