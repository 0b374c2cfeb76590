// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that failed did nothing: its accesses do not exist. The program sees the error as without StreamSan.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_NULL_FAIL=cuMemsetD2D8Async:1:1 %silent %t
// RUN: %build -DSUCCEED %s -o %t.racy
// RUN: %racy %t.racy 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
#ifdef SUCCEED
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
#else
  if (cudaMemset2DAsync(buffer, 16, 1, 64, 64, s2) == cudaSuccess) return 98;  // the pitch is below the width
  (void)cudaGetLastError();
#endif
}
