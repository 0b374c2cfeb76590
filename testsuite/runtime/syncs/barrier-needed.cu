// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel in the legacy default stream uses what a blocking stream has made: its barrier is needed.
//
// RUN: %build %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
//
// CHECK-NOT: sync unneeded
// CHECK: sync needed: the barrier that kernel add{{.*}} ([[SYNC]]) makes in the legacy default stream is needed.
// CHECK: It alone orders read by kernel add{{.*}} on the legacy default stream
// CHECK: after write by kernel set{{.*}} on stream 1
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t s1 = blocking_stream();
  run_set(s1, a, 1);
  add<<<1, 256>>>(b, a, 1, g_cycles);  // @SYNC
  must(cudaGetLastError());
  finish(cudaStreamLegacy, b, 2);
}
