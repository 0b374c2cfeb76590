// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory from cudaMallocAsync exists when its stream gets there. Another stream must wait for that (R-SOA-01).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: use-before-alloc
// CHECK: produce
// CHECK: main{{.*}}[[USE]]
// CHECK: cudaMallocAsync
// CHECK: main{{.*}}[[ALLOC]]
#include "must.h"

__global__ void produce(char*) {}

int main() {
  char* buffer;
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t allocated;
  must(cudaEventCreate(&allocated));
  must(cudaMallocAsync(&buffer, 4096, s1));  // @ALLOC
#ifdef FIXED
  must(cudaEventRecord(allocated, s1));
  must(cudaStreamWaitEvent(s2, allocated));
#endif
  produce<<<1, 32, 0, s2>>>(buffer);  // @USE
  must(cudaGetLastError());
}
