// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order is transitive: s1 -> s2 -> s3 orders s1 before s3. Without the first link it does not.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void unrelated() {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2, s3;
  for (cudaStream_t* s : {&s1, &s2, &s3}) must(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  cudaEvent_t first, second;
  must(cudaEventCreate(&first));
  must(cudaEventCreate(&second));
  produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
#ifdef FIXED
  must(cudaEventRecord(first, s1));
  must(cudaStreamWaitEvent(s2, first));
#endif
  unrelated<<<1, 1, 0, s2>>>();
  must(cudaEventRecord(second, s2));
  must(cudaStreamWaitEvent(s3, second));
  consume<<<1, 32, 0, s3>>>(buffer);  // @READ
  must(cudaGetLastError());
}
