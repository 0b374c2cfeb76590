// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two waits in a row for the same work: either would do, and the second never has anything to wait for.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync unneeded: cudaDeviceSynchronize ([[SECOND]]) had nothing to wait for in this run.
// CHECK: Fix: remove it; cudaStreamSynchronize ([[FIRST]]) must stay.
// CHECK: group=1 removable=1
// CHECK: 2 synchronising call sites: 1 unneeded, 1 to be kept for others of their group
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @FIRST
#ifndef FIXED
  must(cudaDeviceSynchronize());  // @SECOND
#endif
}
