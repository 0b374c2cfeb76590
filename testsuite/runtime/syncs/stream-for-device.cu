// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device is waited for where the host needs what one stream has copied, and another one is busy.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync narrower: cudaDeviceSynchronize ([[SYNC]]) is needed only between
// CHECK: Fix: in its place cudaStreamSynchronize(stream 1).
// CHECK: 1 narrower
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *host = pinned_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  run_set(s1, a, 1);
  must(cudaMemcpyAsync(host, a, kBytes, cudaMemcpyDeviceToHost, s1));
  run_set(s2, b, 2);
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#else
  must(cudaDeviceSynchronize());  // @SYNC
#endif
  const volatile float* look = host;
  const bool right = look[0] == 1;
  run_set(s2, b, right || !g_cycles ? 3 : 4);
  finish(s2, b, 3);
}
