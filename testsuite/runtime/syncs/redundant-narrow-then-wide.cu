// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is waited for, and then the device, on which more was under way: the first wait is not needed.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
// CHECK-NEXT: {{[0-9]+ calls?}}
// CHECK: Fix: remove it.
// CHECK: synchronising call sites: 1 unneeded, 1 needed
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  run_set(s1, a, 1);
  run_set(s2, b, 1);
#ifndef FIXED
  must(cudaStreamSynchronize(s1));  // @SYNC
#endif
  must(cudaDeviceSynchronize());
}
