// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The event is recorded where it should be, and the other stream does not wait for it.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
// CHECK: [[RECORD]]
// CHECK: cause=event-not-waited-for
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t produced;
  must(cudaEventCreate(&produced));
  produce<<<1, 32, 0, s1>>>(buffer);    // @WRITE
  must(cudaEventRecord(produced, s1));  // @RECORD
#ifdef FIXED
  must(cudaStreamWaitEvent(s2, produced));
#endif
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
