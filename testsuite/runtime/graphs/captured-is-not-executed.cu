// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that is captured does not run at the call, so it is no race with work that does. The same calls without capture
// are.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DEAGER %s -o %t.eager
// RUN: %racy %t.eager 2>&1 | %report
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
#ifndef EAGER
  cudaGraph_t graph;
  must(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
#endif
  must(cudaMemsetAsync(buffer, 1, 4096, s1));  // @FIRST
#ifndef EAGER
  must(cudaStreamEndCapture(s1, &graph));
#endif
  must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
}
