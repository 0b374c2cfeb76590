// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFree waits for all work of the device, and nothing needs that here: it can be called where nothing is under way.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync unneeded: the wait of cudaFree ([[SYNC]]) is not needed in this run.
// CHECK: 3 calls
// CHECK: Fix: free it where no work is under way, or use memory of cudaMallocAsync and cudaFreeAsync, which does not wait.
// CHECK: waits=free
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  for (int turn = 0; turn < 3; ++turn) {
    float* unused = device_floats();
    run_set(stream, a, 1);
#ifndef FIXED
    must(cudaFree(unused));  // @SYNC
#endif
    run_add(stream, b, a, 1);
  }
  finish(stream, b, 2);
}
