// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A __device__ variable is an allocation: it lives as long as its module. Two uploads of the same table race.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write race on a module's variable 0x{{[0-9a-f]+}} [4096 bytes overlap]
// CHECK: Write{{.*}}cudaMemcpy{{.*}}Async
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write{{.*}}cudaMemcpy{{.*}}Async
// CHECK: main{{.*}}[[FIRST]]
// CHECK-NEXT: Variable 0x{{[0-9a-f]+}} [4096 bytes] looked up by cu
#include "must.h"

__device__ float table[1024];

int main() {
  float* host;
  must(cudaMallocHost(&host, sizeof table));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemcpyToSymbolAsync(table, host, sizeof table, 0, cudaMemcpyHostToDevice, s1));  // @FIRST
  must(cudaMemcpyToSymbolAsync(table, host, sizeof table, 0, cudaMemcpyHostToDevice, s2));  // @SECOND
}
