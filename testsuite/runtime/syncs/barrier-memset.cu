// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaMemset is a barrier of the legacy default stream, too.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %syncs %t.fixed 2>&1 | %sites --check-prefix=FIXED
//
// CHECK: sync unneeded: the barrier that cudaMemset ([[SYNC]]) makes in the legacy default stream is not needed in this run.
// FIXED-NOT: {{ERROR|LATENT|sync unneeded|sync narrower}}
// FIXED: synchronising call site
// FIXED-NOT: {{unneeded|narrower}}
#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *c = device_floats();
  cudaStream_t s1 = blocking_stream(), s2 = blocking_stream();
  run_set(s1, a, 1);
#ifdef FIXED
  cudaStream_t own = non_blocking_stream();
  must(cudaMemsetAsync(c, 0, kBytes, own));
#else
  cudaStream_t own = nullptr;
  must(cudaMemset(c, 0, kBytes));  // @SYNC
#endif
  run_set(s2, b, 2);
  finish(s1, a, 1);
  finish(s2, b, 2);
  finish(own, c, 0);
}
