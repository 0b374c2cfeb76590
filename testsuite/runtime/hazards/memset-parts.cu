// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills are exact: rows of a pitched fill that share bytes with a linear one race, rows that do not are silent.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}cudaMemset2DAsync
// CHECK: main{{.*}}[[ROWS]]
// CHECK: write{{.*}}cudaMemsetAsync
// CHECK: main{{.*}}[[LINEAR]]
#include "must.h"

int main() {
  constexpr size_t kPitch = 1024, kRows = 8, kWidth = 256;
  char* buffer;
  must(cudaMalloc(&buffer, kPitch * kRows));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  constexpr size_t kFirst = kWidth;  // the gap behind the first row
#else
  constexpr size_t kFirst = kWidth - 1;
#endif
  must(cudaMemsetAsync(buffer + kFirst, 1, kPitch - kWidth, s1));  // @LINEAR
  must(cudaMemset2DAsync(buffer, kPitch, 0, kWidth, kRows, s2));   // @ROWS
}
