// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What comes after the wait may touch anything: a kernel that follows pointers kept in memory. The twin hands the
// pointer over, to another buffer.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1 %run %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1 %run %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: it is not known what memory is used by kernel follow(float**) ([[FOLLOW]]) besides
// TWIN: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
#include "syncs.h"

__global__ void follow(float** where) { **where = 1; }

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats(), *where = device_floats();
  cudaStream_t s1 = non_blocking_stream(), s2 = non_blocking_stream();
  float** table = reinterpret_cast<float**>(pinned_floats());
  *table = a;
  must(cudaMemcpyAsync(where, table, sizeof a, cudaMemcpyHostToDevice, s2));
  run_set(s1, a, 1);
  must(cudaStreamSynchronize(s1));  // @SYNC
#ifdef TWIN
  run_set(s2, b, 1);
#else
  follow<<<1, 1, 0, s2>>>(reinterpret_cast<float**>(where));  // @FOLLOW
#endif
  must(cudaStreamSynchronize(s2));
  finish(s1, a, 1);
}
