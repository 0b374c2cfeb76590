// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is waited for so that another one may use what it has made.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync narrower: cudaStreamSynchronize ([[SYNC]]) is needed only between
// CHECK: Why: the host waits for stream 1. The replacement was verified
// CHECK: Fix: in its place cudaEventRecord(event, stream 1) and cudaStreamWaitEvent(stream 2, event).
// CHECK: verdict=narrower
// CHECK: 1 narrower
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  run_set(s1, a, 1);
#ifdef FIXED
  cudaEvent_t event = order_event();
  must(cudaEventRecord(event, s1));
  must(cudaStreamWaitEvent(s2, event));
#else
  must(cudaStreamSynchronize(s1));  // @SYNC
#endif
  run_add(s2, b, a, 1);
  finish(s2, b, 2);
}
