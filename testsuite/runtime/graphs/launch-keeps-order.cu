// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph launch is an operation of its stream: what stands before and behind it is ordered through it.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DRACY %s -o %t.racy
// RUN: %racy %t.racy 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include "must.h"

int main() {
  char *a, *b;
  must(cudaMalloc(&a, 4096));
  must(cudaMalloc(&b, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaGraph_t graph;
  must(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
  must(cudaMemsetAsync(a, 0, 4096, s1));
  must(cudaStreamEndCapture(s1, &graph));
  cudaGraphExec_t exec;
  must(cudaGraphInstantiate(&exec, graph, 0));

  must(cudaMemsetAsync(b, 1, 4096, s1));  // @FIRST
  must(cudaGraphLaunch(exec, s1));
  cudaEvent_t launched;
  must(cudaEventCreate(&launched));
  must(cudaEventRecord(launched, s1));
#ifndef RACY
  must(cudaStreamWaitEvent(s2, launched));
#endif
  must(cudaMemsetAsync(b, 2, 4096, s2));  // @SECOND
}
