// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --suffix=RACE -- -std=c++23
// RUN: %check cross-stream-race %s -- -std=c++23 -DFIXED
//
// A branch for the compiler's own computations, which a kernel never takes: such an `if` has no condition.
#include <cuda_runtime.h>

__host__ __device__ constexpr void put(float* out, int at) {
  if consteval {
    out[at] = 1.0F;
  } else {
#ifndef FIXED
    out[at] = 2.0F;
#endif
  }
  if !consteval {
    at += 1;
  }
}

__global__ void fill(float* out) { put(out, threadIdx.x); }
__global__ void twice(const float* in, float* out) { out[threadIdx.x] = 2.0F * in[threadIdx.x]; }

void run(float* middle, float* out) {
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  fill<<<1, 32, 0, first>>>(middle);
  twice<<<1, 32, 0, second>>>(middle, out);
// CHECK-MESSAGES-RACE: :[[@LINE-1]]:3: warning: kernel 'twice' on stream 'second' may read 'middle' while kernel 'fill' on stream 'first' still writes it [streamsan-cross-stream-race]
  cudaStreamSynchronize(first);
  cudaStreamSynchronize(second);
}
