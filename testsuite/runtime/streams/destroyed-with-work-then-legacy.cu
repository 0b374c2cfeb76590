// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work pending in a destroyed blocking stream still comes before a later action of the legacy stream (R-STR-20).
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DNONBLOCKING %s -o %t.nonblocking
// RUN: %racy %t.nonblocking 2>&1 | %report
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}legacy
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
#ifdef NONBLOCKING
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#else
  must(cudaStreamCreate(&stream));
#endif
  produce<<<1, 32, 0, stream>>>(buffer);  // @WRITE
  must(cudaStreamDestroy(stream));
  consume<<<1, 32>>>(buffer);  // @READ
  must(cudaGetLastError());
}
