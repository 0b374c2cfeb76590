// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that never had anything to wait for is counted, and listed only when everything is.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %all_syncs %t 2>&1 | %sites --check-prefix=ALL
//
// CHECK-NOT: sync unneeded
// CHECK: 1 that never had to wait
// ALL: sync unneeded: cudaDeviceSynchronize ([[SYNC]]) had nothing to wait for in this run.
// ALL-NEXT: 1 call, 1 of them with nothing to wait for
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  must(cudaDeviceSynchronize());  // @SYNC
  run_set(stream, a, 1);
  finish(stream, a, 1);
}
