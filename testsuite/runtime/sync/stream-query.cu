// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A successful query of the stream orders what the host submits afterwards (R-SYN-02).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  consume<<<1, 32, 0, s1>>>(buffer);  // @READ
#ifdef FIXED
  while (cudaStreamQuery(s1) == cudaErrorNotReady) {
  }
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s2));  // @WRITE
}
