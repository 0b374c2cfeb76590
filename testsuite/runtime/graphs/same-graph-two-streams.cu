// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of one executable graph never overlap, whatever their streams (R-GRF-35): the second launch carries the
// order of the first stream into the second. Two executable graphs of one graph do not.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DTWO_EXECS %s -o %t.two
// RUN: %racy %t.two 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: ERROR: streamsan: write-after-write
// CHECK-NEXT: Write by cudaMemsetAsync {{.*}}[[SECOND]]{{.*}} in main
// CHECK-NEXT: Previous write by cudaMemsetAsync {{.*}}[[FIRST]]{{.*}} in main
#include "must.h"

int main() {
  char *a, *b;
  must(cudaMalloc(&a, 4096));
  must(cudaMalloc(&b, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaGraph_t graph;
  must(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
  must(cudaMemsetAsync(a, 0, 4096, s1));
  must(cudaStreamEndCapture(s1, &graph));
  cudaGraphExec_t first, second;
  must(cudaGraphInstantiate(&first, graph, 0));
  must(cudaGraphInstantiate(&second, graph, 0));
#ifndef TWO_EXECS
  second = first;
#endif
  must(cudaMemsetAsync(b, 1, 4096, s1));  // @FIRST
  must(cudaGraphLaunch(first, s1));
  must(cudaGraphLaunch(second, s2));
  must(cudaMemsetAsync(b, 2, 4096, s2));  // @SECOND
}
