// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// One kernel on row blocks of one field, distinguished by scalar arguments: assumed disjoint, silent.
#include <cuda_runtime.h>

__global__ void sweep(float* field, int first_row, int last_row) {
  const int row = first_row + static_cast<int>(blockIdx.x);
  if (row < last_row) field[row * 256 + threadIdx.x] += 1.0f;
}

void step(float* field, int rows) {
  cudaStream_t inner, boundary;
  cudaStreamCreateWithFlags(&inner, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&boundary, cudaStreamNonBlocking);
  sweep<<<1, 256, 0, boundary>>>(field, 0, 1);
  sweep<<<1, 256, 0, boundary>>>(field, rows - 1, rows);
  sweep<<<rows - 2, 256, 0, inner>>>(field, 1, rows - 1);
  cudaStreamSynchronize(inner);
  cudaStreamSynchronize(boundary);
}
