// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams work on the two halves of every row of a matrix: no byte is shared, though each half lies between parts
// of the other. One column more on the left side: an error.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured FIXED %silent %t.fixed
//
// SCRIPT: columns@1 write #0 132 64 256
// SCRIPT: columns@2 write #0+128 128 64 256
// FIXED: columns@1 write #0 128 64 256
// FIXED: columns@2 write #0+128 128 64 256
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[RIGHT]]
// CHECK: main{{.*}}[[LEFT]]
#include "must.h"

constexpr int kColumns = 64, kRows = 64;

__global__ void columns(float* matrix, int first, int count) {
  for (int column = 0; column < count; ++column) matrix[threadIdx.x * kColumns + first + column] = 1;
}

int main() {
#ifdef FIXED
  constexpr int kLeft = kColumns / 2;
#else
  constexpr int kLeft = kColumns / 2 + 1;
#endif
  float* matrix;
  must(cudaMalloc(&matrix, kRows * kColumns * sizeof(float)));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  columns<<<1, kRows, 0, s1>>>(matrix, 0, kLeft);  // @LEFT
  must(cudaGetLastError());
  columns<<<1, kRows, 0, s2>>>(matrix, kColumns / 2, kColumns / 2);  // @RIGHT
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
