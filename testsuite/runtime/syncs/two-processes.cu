// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each process of a run has its own list.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1 %run sh -c "%t && %t" 2>&1 | %report
//
// CHECK-DAG: =={{[0-9]+}}== NOTE: streamsan: sync unneeded: cudaDeviceSynchronize ([[SYNC]])
// CHECK: SUMMARY: streamsan: no errors; {{[0-9]+}} operations in 2 processes
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaDeviceSynchronize());  // @SYNC
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
