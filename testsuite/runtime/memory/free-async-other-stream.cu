// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory is given back in one stream while another one uses it (R-SOA-03).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: {{.*}}free
// CHECK: Free{{.*}}cudaFreeAsync
// CHECK: main{{.*}}[[FREE]]
// CHECK: consume
// CHECK: main{{.*}}[[USE]]
// CHECK: allocated by cudaMallocAsync
// CHECK-NEXT: main{{.*}}[[ALLOC]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t allocated, consumed;
  must(cudaEventCreate(&allocated));
  must(cudaEventCreate(&consumed));
  must(cudaMallocAsync(&buffer, 4096, s1));  // @ALLOC
  must(cudaEventRecord(allocated, s1));
  must(cudaStreamWaitEvent(s2, allocated));
  consume<<<1, 32, 0, s2>>>(buffer);  // @USE
  must(cudaEventRecord(consumed, s2));
#ifdef FIXED
  must(cudaStreamWaitEvent(s1, consumed));
#endif
  must(cudaFreeAsync(buffer, s1));  // @FREE
}
