// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A per-thread default stream is a blocking stream (R-STR-13): the legacy stream is ordered with it. It is commonly
// believed not to be. The twin replaces it by a non-blocking stream.
//
// RUN: %build_ptds %s -o %t
// RUN: %silent %t
// RUN: %build_ptds -DNONBLOCKING %s -o %t.nonblocking
// RUN: %racy %t.nonblocking 2>&1 | %report
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}(non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}}legacy
// CHECK: cause=nonblocking-vs-legacy
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream = cudaStreamPerThread;
#ifdef NONBLOCKING
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#endif
  produce<<<1, 32, 0, cudaStreamLegacy>>>(buffer);
  consume<<<1, 32, 0, stream>>>(buffer);  // @READ
  must(cudaGetLastError());
}
