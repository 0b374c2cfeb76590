// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits, then gives work to another stream, and only then looks at what it has waited for: the wait can move
// behind that work.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync narrower: cudaStreamSynchronize ([[SYNC]]) is needed only between
// CHECK: Fix: the same call, moved to right before the host's read ([[LOOK]]), the first one if there are several.
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
#ifndef FIXED
  must(cudaStreamSynchronize(s1));  // @SYNC
#endif
  for (int turn = 0; turn < 4; ++turn) run_set(s2, b, 2);
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  const volatile float* look = host;
  const bool right = look[0] == 1;  // @LOOK
  run_set(s2, b, right || !g_cycles ? 3 : 4);
  finish(s2, b, 3);
}
