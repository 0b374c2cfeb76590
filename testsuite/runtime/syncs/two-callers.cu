// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that waits is called from two places: two call sites, distinguished by their stacks.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// The one that took longer comes first.
//
// CHECK-DAG: #1 main{{.*}}[[FIRST]]
// CHECK-DAG: #1 main{{.*}}[[SECOND]]
// CHECK: 2 unneeded
// CHECK: a replay with both of these changes at once was clean
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

void barrier(cudaStream_t stream) {
#ifndef FIXED
  must(cudaStreamSynchronize(stream));  // @SYNC
#endif
}

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  barrier(stream);  // @FIRST
  run_add(stream, b, a, 1);
  barrier(stream);  // @SECOND
  run_add(stream, a, b, 1);
  finish(stream, a, 3);
}
