// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An event used for two rounds. A wait keeps the round it saw at its call (R-EVT-03): one enqueued between the records
// covers the first copy and not the second; one enqueued after both covers both.
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
// CHECK: cause=event-recorded-too-early
// CHECK-NOT: ERROR: streamsan:
#include "must.h"

__global__ void consume(const char*, const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *a, *b;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&a, kBytes));
  must(cudaMalloc(&b, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t copied;
  must(cudaEventCreate(&copied));

  must(cudaMemcpyAsync(a, host, kBytes, cudaMemcpyHostToDevice, s1));
  must(cudaEventRecord(copied, s1));  // @RECORD
#ifndef FIXED
  must(cudaStreamWaitEvent(s2, copied));
#endif
  must(cudaMemcpyAsync(b, host, kBytes, cudaMemcpyHostToDevice, s1));  // @WRITE
  must(cudaEventRecord(copied, s1));
#ifdef FIXED
  must(cudaStreamWaitEvent(s2, copied));
#endif
  consume<<<1, 32, 0, s2>>>(a, b);  // @READ
  must(cudaGetLastError());
}
