// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting for the legacy stream covers all blocking streams (R-STR-16).
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DNO_SYNC %s -o %t.nosync
// RUN: %racy %t.nosync 2>&1 | %report
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
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
#ifndef NO_SYNC
  must(cudaStreamSynchronize(0));
#endif
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
