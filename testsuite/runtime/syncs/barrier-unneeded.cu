// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel in the legacy default stream stands between two blocking streams that have nothing to do with each other:
// the three could run at the same time.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync unneeded: the barrier that kernel set{{.*}} ([[SYNC]]) makes in the legacy default stream is not needed in this run.
// CHECK: Fix: submit it to a non-blocking stream, where it is no barrier, and order it with other work of the legacy stream by events.
// CHECK: waits=barrier
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *c = device_floats();
  cudaStream_t s1 = blocking_stream(), s2 = blocking_stream();
#ifdef FIXED
  cudaStream_t own = non_blocking_stream();
#else
  cudaStream_t own = nullptr;
#endif
  run_set(s1, a, 1);
  set<<<1, 256, 0, own>>>(c, 3, g_cycles);  // @SYNC
  must(cudaGetLastError());
  run_set(s2, b, 2);
  finish(s1, a, 1);
  finish(s2, b, 2);
  finish(own, c, 3);
}
