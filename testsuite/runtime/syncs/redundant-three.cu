// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three waits for the same work: two of them can go.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync unneeded: cudaStreamSynchronize ([[SECOND]]) had nothing to wait for in this run.
// CHECK: Fix: remove it; cudaEventSynchronize ([[FIRST]]) must stay.
// CHECK: sync unneeded: cudaDeviceSynchronize ([[THIRD]]) had nothing
// CHECK: 2 unneeded, 1 to be kept for others of their group
// CHECK-NEXT: a replay with both of these changes at once was clean
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  cudaEvent_t event = order_event();
  run_set(stream, a, 1);
  must(cudaEventRecord(event, stream));
  must(cudaEventSynchronize(event));  // @FIRST
#ifndef FIXED
  must(cudaStreamSynchronize(stream));  // @SECOND
  must(cudaDeviceSynchronize());        // @THIRD
#endif
}
