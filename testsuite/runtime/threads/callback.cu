// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaStreamAddCallback, the older form of a host function: an operation of its stream, called with the stream and a
// status.
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
  auto called = [](cudaStream_t, cudaError_t status, void* count) {
    *static_cast<int*>(count) += status == cudaSuccess;
  };
  must(cudaStreamAddCallback(s1, called, &calls, 0));
  must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
  must(cudaDeviceSynchronize());
  if (calls != 1) return 98;
}
