// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing else waits for the kernel: the wait before the end of the program is needed.
//
// RUN: %build %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
//
// CHECK-NOT: sync {{unneeded|narrower}}
// CHECK: sync needed: cudaDeviceSynchronize ([[SYNC]]) is needed.
// CHECK: Why: nothing else waits for kernel set{{.*}} on stream 1 before the program ends.
// CHECK-NEXT: verdict=needed
// CHECK: 1 synchronising call site: 1 needed
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaDeviceSynchronize());  // @SYNC
}
