// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The event is recorded before the copy it is meant to stand for: the wait orders nothing (R-EVT-01).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[WRITE]]
// CHECK: [[RECORD]]
// CHECK: cause=event-recorded-too-early
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
#ifdef FIXED
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));
  must(cudaEventRecord(copied, s1));
#else
  must(cudaEventRecord(copied, s1));                                        // @RECORD
  must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));  // @WRITE
#endif
  must(cudaStreamWaitEvent(s2, copied));
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
}
