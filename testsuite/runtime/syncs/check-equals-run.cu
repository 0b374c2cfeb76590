// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trace that was kept gives the same when it is judged later.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1,keep_trace=1,trace_dir=%t.dir %run %t > %t.run 2>&1
// RUN: %report < %t.run
// RUN: env STREAMSAN_OPTIONS=kernel_code=1,syncs=1 %streamsan check %t.dir/*/*.trace > %t.check 2>&1
// RUN: %report < %t.check
// RUN: grep -v -e "trace kept" -e "^SUMMARY" %t.run > %t.run.part
// RUN: grep -v -e "^SUMMARY" %t.check | diff %t.run.part -
//
// CHECK: NOTE: streamsan: sync unneeded: cudaDeviceSynchronize ([[SYNC]]) is not needed in this run.
// CHECK-NEXT: {{[0-9]+ calls?}}
// CHECK: Fix: remove it.
// CHECK: verdict=unneeded
// CHECK: 1 unneeded
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
