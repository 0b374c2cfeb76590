// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The per-thread default stream waited for between two of its kernels.
//
// RUN: %build_ptds %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build_ptds -DFIXED %s -o %t.fixed
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
  run_set(cudaStreamPerThread, a, 1);
#ifndef FIXED
  must(cudaStreamSynchronize(cudaStreamPerThread));  // @SYNC
#endif
  run_add(cudaStreamPerThread, b, a, 1);
  finish(cudaStreamPerThread, b, 2);
}
