// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory is one allocation like any other where two kernels meet in it.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume(int const*)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce(int*)
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cudaMallocManaged
#include "must.h"

__global__ void produce(int*) {}
__global__ void consume(const int*) {}

int main() {
  int* shared;
  must(cudaMallocManaged(&shared, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t produced;
  must(cudaEventCreate(&produced));
  produce<<<1, 64, 0, s1>>>(shared);  // @WRITE
  must(cudaEventRecord(produced, s1));
#ifdef FIXED
  must(cudaStreamWaitEvent(s2, produced));
#endif
  consume<<<1, 64, 0, s2>>>(shared);  // @READ
  must(cudaGetLastError());
}
