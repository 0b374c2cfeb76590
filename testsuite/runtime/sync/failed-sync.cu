// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that returned an error has waited for nothing (R-SYN-05). The null driver fails the call on request. An error that
// ends all work of the context ends the checking, too (R-CORE-07).
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: env STREAMSAN_NULL_FAIL=cuStreamSynchronize:1:999 %racy %t 2>&1 | %report
// RUN: env STREAMSAN_NULL_FAIL=cuStreamSynchronize:1:700 %run %t 2>&1 | %report --check-prefix=ENDED
//
// ENDED-NOT: ERROR
// ENDED: WARNING: streamsan: cuStreamSynchronize failed with illegal memory access (700), which ends all work of its
// ENDED-SAME: context: nothing was checked from there on
// ENDED-NOT: ERROR
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
  (void)cudaStreamSynchronize(s1);
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  (void)cudaGetLastError();
}
