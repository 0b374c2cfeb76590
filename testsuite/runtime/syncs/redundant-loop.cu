// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of each turn of a loop waits, and the beginning of the next turn waits again.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: synchronising call sites: 
// CHECK-SAME: 1 needed
// CHECK-SAME: 1 that never had to wait
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  for (int turn = 0; turn < 3; ++turn) {
#ifndef FIXED
    must(cudaDeviceSynchronize());  // @FIRST
#endif
    run_set(stream, a, 1);
    must(cudaStreamSynchronize(stream));  // @SECOND
  }
}
