// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An event recorded in the legacy stream captures all blocking streams (R-STR-15), so a non-blocking stream that waits
// for it is after all of them. Recorded in another blocking stream it captures that stream only.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}(non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}}(blocking)
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2, s3;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaStreamCreateWithFlags(&s3, cudaStreamNonBlocking));
  cudaEvent_t event;
  must(cudaEventCreate(&event));
  produce<<<1, 32, 0, s1>>>(buffer);  // @WRITE
#ifdef FIXED
  must(cudaEventRecord(event, cudaStreamLegacy));
#else
  must(cudaEventRecord(event, s2));
#endif
  must(cudaStreamWaitEvent(s3, event));
  consume<<<1, 32, 0, s3>>>(buffer);  // @READ
  must(cudaGetLastError());
}
