// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A capture spreads to other streams through events (fork and join); their work is captured too, until the capture
// ends. Afterwards the same streams are ordinary again.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK-NOT: ERROR: streamsan:
#include "must.h"

int main() {
  char *a, *b;
  must(cudaMalloc(&a, 4096));
  must(cudaMalloc(&b, 4096));
  cudaStream_t s1, s2, s3;
  for (cudaStream_t* s : {&s1, &s2, &s3}) must(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  cudaEvent_t fork, join;
  must(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  must(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cudaGraph_t graph;
  must(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
  must(cudaEventRecord(fork, s1));
  must(cudaStreamWaitEvent(s2, fork));
  must(cudaMemsetAsync(a, 1, 4096, s2));  // captured: no race with the next line
  must(cudaMemsetAsync(a, 2, 4096, s3));
  must(cudaEventRecord(join, s2));
  must(cudaStreamWaitEvent(s1, join));
  must(cudaStreamEndCapture(s1, &graph));

  must(cudaMemsetAsync(b, 1, 4096, s2));  // @FIRST
#ifdef FIXED
  s3 = s2;
#endif
  must(cudaMemsetAsync(b, 2, 4096, s3));  // @SECOND
}
