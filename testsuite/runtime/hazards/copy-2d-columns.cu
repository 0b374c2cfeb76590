// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams each upload some columns of one matrix. Their bounding ranges always overlap; only a common column is a
// race.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemcpy2DAsync
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cudaMemcpy2DAsync
// CHECK: main{{.*}}[[FIRST]]
#include "must.h"

int main() {
  constexpr size_t kRow = 1024, kRows = 64, kHalf = kRow / 2;
  char *host, *matrix;
  must(cudaMallocHost(&host, kRow * kRows));
  must(cudaMalloc(&matrix, kRow * kRows));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  constexpr size_t kColumn = kHalf;
#else
  constexpr size_t kColumn = kHalf - 1;
#endif
  must(cudaMemcpy2DAsync(matrix, kRow, host, kRow, kHalf, kRows, cudaMemcpyHostToDevice, s1));            // @FIRST
  must(cudaMemcpy2DAsync(matrix + kColumn, kRow, host, kRow, kHalf, kRows, cudaMemcpyHostToDevice, s2));  // @SECOND
}
