// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host function is an operation of its stream: what comes behind it is after what came before it. It orders nothing
// in other streams.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  static int calls;
  must(cudaMemsetAsync(buffer, 1, 4096, s1));  // @FIRST
  must(cudaLaunchHostFunc(s1, [](void* count) { ++*static_cast<int*>(count); }, &calls));
  must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
  must(cudaDeviceSynchronize());
  if (calls != 1) return 98;
}
