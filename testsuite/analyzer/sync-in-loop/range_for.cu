// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
// RUN: %check sync-in-loop %s -- -DFIXED
//
// A range-for over buffers.
#include <cuda_runtime.h>

#include <vector>

__global__ void clear(float* x) { x[threadIdx.x] = 0.0f; }

void clear_all(const std::vector<float*>& buffers, cudaStream_t s) {
  for (float* buffer : buffers) {
    clear<<<1, 256, 0, s>>>(buffer);
#ifndef FIXED
    cudaStreamSynchronize(s);  // FIRES: sync-in-loop
#endif
  }
  cudaStreamSynchronize(s);
}
