// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cooperative launches go through a driver function of their own; their order is that of any launch (R-LCH-05).
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  void* arguments[] = {&buffer};
  must(cudaLaunchCooperativeKernel(produce, 1, 32, arguments, 0, s1));  // @WRITE
  must(cudaLaunchCooperativeKernel(consume, 1, 32, arguments, 0, s2));  // @READ
}
