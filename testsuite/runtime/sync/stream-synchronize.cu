// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits for the stream that wrote, and then starts the reader (R-SYN-01).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=no-edge
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
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
