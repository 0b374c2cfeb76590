// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wait is enqueued before the record. It binds to what the event held then, which is nothing (R-EVT-03, R-EVT-04).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[WRITE]]
// CHECK: [[WAIT]]
// CHECK: cause=event-never-recorded
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t copied;
  must(cudaEventCreate(&copied));
#ifndef FIXED
  must(cudaStreamWaitEvent(s2, copied));  // @WAIT
#endif
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));  // @WRITE
  must(cudaEventRecord(copied, s1));
#ifdef FIXED
  must(cudaStreamWaitEvent(s2, copied));
#endif
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
