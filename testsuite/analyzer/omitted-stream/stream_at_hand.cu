// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// Work on one buffer goes to a stream that the function got from elsewhere, and once to none.
#include <cuda_runtime.h>

__global__ void clear(float* p) { p[threadIdx.x] = 0.0f; }
__global__ void add(float* p, const float* x) { p[threadIdx.x] += x[threadIdx.x]; }

cudaStream_t current_stream();

void accumulate(float* p, float* q, const float* x) {
  cudaStream_t stream = current_stream();
#ifdef FIXED
  clear<<<1, 32, 0, stream>>>(p);
#else
  clear<<<1, 32>>>(p);  // FIRES: omitted-stream
#endif
  add<<<1, 32, 0, stream>>>(p, x);
  clear<<<1, 32>>>(q);  // of other memory
}
