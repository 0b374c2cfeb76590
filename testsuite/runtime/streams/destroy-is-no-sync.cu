// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaStreamDestroy returns while work is pending and orders nothing (R-STR-30).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  must(cudaStreamDestroy(s1));
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
