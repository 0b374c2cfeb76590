// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream priorities are a hint: the higher one does not go first (R-STR-32).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
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
  int least, greatest;
  must(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t high, low;
  must(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
  must(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
  produce<<<1, 32, 0, high>>>(buffer);  // @WRITE
#ifdef FIXED
  low = high;
#endif
  consume<<<1, 32, 0, low>>>(buffer);  // @READ
  must(cudaGetLastError());
}
