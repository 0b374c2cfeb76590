// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams each upload some columns of one array. Only a common column is a race.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write race on an array of 256 x 64 x 4 bytes [256 bytes overlap: 64 rows of 4 bytes, 1024 apart]
// CHECK: Write by cudaMemcpy2DToArrayAsync
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write by cudaMemcpy2DToArrayAsync
// CHECK: main{{.*}}[[FIRST]]
// CHECK: allocated by cudaMallocArray
#include "must.h"

int main() {
  constexpr size_t kWidth = 256, kRows = 64, kRow = kWidth * 4, kHalf = kRow / 2;
  char* host;
  must(cudaMallocHost(&host, kRow * kRows));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
  cudaArray_t image;
  must(cudaMallocArray(&image, &element, kWidth, kRows, cudaArrayDefault));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  constexpr size_t kColumn = kHalf;
#else
  constexpr size_t kColumn = kHalf - 4;
#endif
  must(cudaMemcpy2DToArrayAsync(image, 0, 0, host, kRow, kHalf, kRows, cudaMemcpyHostToDevice, s1));        // @FIRST
  must(cudaMemcpy2DToArrayAsync(image, kColumn, 0, host, kRow, kHalf, kRows, cudaMemcpyHostToDevice, s2));  // @SECOND
}
