// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that does not use CUDA starts one that does, by fork and exec. The child is followed; with
// follow_children=0 it is not.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %run sh -c '%t; true' 2>&1 | %report
// RUN: env STREAMSAN_OPTIONS=follow_children=0 %expect 0 %run sh -c '%t; true' 2>&1 | %filecheck %s --check-prefix=ALONE
//
// ALONE-NOT: ERROR
// ALONE: nothing was checked{{.*}}(follow_children=0)
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
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
}
