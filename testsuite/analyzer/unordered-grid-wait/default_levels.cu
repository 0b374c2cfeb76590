// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check unordered-grid-wait %s
//
// At the default levels an access before the wait is silent: it may be a table that nobody writes.
#include <cuda_runtime.h>

__global__ void consume(const float* table, const float* in, float* out) {
  const float mine = table[threadIdx.x];
  cudaGridDependencySynchronize();
  out[threadIdx.x] = in[threadIdx.x] * mine;
}

void run(const float* table, const float* in, float* out, cudaStream_t stream) {
  consume<<<1, 256, 0, stream>>>(table, in, out);
}
