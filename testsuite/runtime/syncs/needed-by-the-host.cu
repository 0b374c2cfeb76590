// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host reads what was copied to pinned memory: the only stream, and nothing behind the copy, so that there is
// nothing narrower.
//
// RUN: %build %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
//
// CHECK-NOT: sync {{unneeded|narrower}}
// CHECK: right
// CHECK: sync needed: cudaStreamSynchronize ([[SYNC]]) is needed.
// CHECK: It alone orders read by the host
// CHECK-SAME: [[LOOK]]
// CHECK-NEXT: after write by cudaMemcpyAsync (device to host) on stream 1
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *host = pinned_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaMemcpyAsync(host, a, kBytes, cudaMemcpyDeviceToHost, stream));
  must(cudaStreamSynchronize(stream));  // @SYNC
  const volatile float* look = host;
  std::printf("%s\n", look[0] == 1 || !g_cycles ? "right" : "wrong");  // @LOOK
}
