// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A buffer is cleared in one stream while a kernel in another adds to it.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}accumulate(float*)
// CHECK: main{{.*}}[[ADD]]
// CHECK: write{{.*}}cudaMemsetAsync
// CHECK: main{{.*}}[[CLEAR]]
// CHECK: cause=no-edge
#include "must.h"

__global__ void accumulate(float*) {}

int main() {
  constexpr size_t kBytes = 4096;
  float* buffer;
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemsetAsync(buffer, 0, kBytes, s1));  // @CLEAR
  accumulate<<<8, 128, 0, s2>>>(buffer);         // @ADD
  must(cudaGetLastError());
}
