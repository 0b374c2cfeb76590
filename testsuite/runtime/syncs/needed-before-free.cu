// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory is freed after the kernel that uses it was waited for. That cudaFree waits, too, is not promised.
//
// RUN: %build %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
//
// CHECK-NOT: sync {{unneeded|narrower}}: cudaStreamSynchronize
// CHECK: sync needed: cudaStreamSynchronize ([[SYNC]]) is needed.
// CHECK: It alone orders free by cudaFree
// CHECK: after write by kernel set{{.*}} on stream 1
// CHECK: today's driver orders the two all the same; no document promises it
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @SYNC
  must(cudaFree(a));
}
