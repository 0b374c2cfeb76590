// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A halo exchange: one row is copied in while a kernel works on the matrix it belongs to. More device threads than
// copied bytes: the kernel may well leave the row alone, so no error. A copy of the whole matrix is another matter.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.halo
// RUN: %expect 0 %run %t.halo 2>&1 | %filecheck %s --check-prefix=HALO --allow-empty
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[COPY]]
// CHECK: write{{.*}}interior(float*)
// CHECK: main{{.*}}[[KERNEL]]
//
// HALO-NOT: ERROR
#include "must.h"

__global__ void interior(float*) {}

int main() {
  constexpr size_t kRow = 256, kRows = 256;
  float *host, *matrix;
  must(cudaMallocHost(&host, kRow * kRows * sizeof(float)));
  must(cudaMalloc(&matrix, kRow * kRows * sizeof(float)));
  cudaStream_t work, halo;
  must(cudaStreamCreate(&work));
  must(cudaStreamCreate(&halo));
#ifdef FIXED
  constexpr size_t kFloats = kRow;
#else
  constexpr size_t kFloats = kRow * kRows;
#endif
  interior<<<kRows, kRow, 0, work>>>(matrix);  // @KERNEL
  must(cudaGetLastError());
  must(cudaMemcpyAsync(matrix, host, kFloats * sizeof(float), cudaMemcpyHostToDevice, halo));  // @COPY
}
