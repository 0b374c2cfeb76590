// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An event orders the two streams; the host waits besides.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync unneeded: cudaDeviceSynchronize ([[SYNC]]) is not needed in this run.
// CHECK-NEXT: {{[0-9]+ calls?}}
// CHECK: Fix: remove it.
// CHECK: verdict=unneeded
// CHECK: 1 unneeded
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  cudaEvent_t event = order_event();
  run_set(s1, a, 1);
  must(cudaEventRecord(event, s1));
  must(cudaStreamWaitEvent(s2, event));
#ifndef FIXED
  must(cudaDeviceSynchronize());  // @SYNC
#endif
  run_add(s2, b, a, 1);
  finish(s2, b, 2);
}
