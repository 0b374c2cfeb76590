// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams use what a third has made: two waits for an event in place of one of the host.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync narrower: cudaDeviceSynchronize ([[SYNC]]) is needed only between
// CHECK: Fix: in its place cudaEventRecord(event, stream 1), cudaStreamWaitEvent(stream 2, event) and cudaStreamWaitEvent(stream 3, event).
// CHECK: verdict=narrower
// CHECK: 1 narrower
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *c = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream(), s3 = non_blocking_stream();
  run_set(s1, a, 1);
#ifdef FIXED
  cudaEvent_t event = order_event();
  must(cudaEventRecord(event, s1));
  must(cudaStreamWaitEvent(s2, event));
  must(cudaStreamWaitEvent(s3, event));
#else
  must(cudaDeviceSynchronize());  // @SYNC
#endif
  run_add(s2, b, a, 1);
  run_add(s3, c, a, 2);
  finish(s2, b, 2);
  finish(s3, c, 3);
}
