// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A blocking stream that is created after work was given to the legacy stream waits for that work too (R-STR-19). A
// non-blocking one does not.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=nonblocking-vs-legacy
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 1 << 20));
  must(cudaMemsetAsync(buffer, 0, 1 << 20));  // @WRITE
  cudaStream_t late;
#ifdef FIXED
  must(cudaStreamCreate(&late));
#else
  must(cudaStreamCreateWithFlags(&late, cudaStreamNonBlocking));
#endif
  consume<<<1, 32, 0, late>>>(buffer);  // @READ
  must(cudaGetLastError());
}
