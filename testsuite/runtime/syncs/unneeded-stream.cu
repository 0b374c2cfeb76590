// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits for a stream between two kernels of that stream.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: NOTE: streamsan: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
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
  cudaStream_t stream = non_blocking_stream();
  for (int turn = 0; turn < 4; ++turn) {
    run_set(stream, a, 1);
#ifndef FIXED
    must(cudaStreamSynchronize(stream));  // @SYNC
#endif
    run_add(stream, b, a, 1);
  }
  finish(stream, b, 2);
}
