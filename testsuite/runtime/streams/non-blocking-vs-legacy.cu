// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A non-blocking stream takes no part in the order of the legacy default stream (R-STR-12); a blocking one does.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}(non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}}legacy
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=nonblocking-vs-legacy
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
#ifdef FIXED
  must(cudaStreamCreateWithFlags(&stream, cudaStreamDefault));
#else
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#endif
  produce<<<1, 32>>>(buffer);             // @WRITE
  consume<<<1, 32, 0, stream>>>(buffer);  // @READ
  must(cudaGetLastError());
}
