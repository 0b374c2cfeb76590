// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that keeps its result in a module variable, whose address is no argument: what reads it has no order with the
// kernel that could be seen, so nobody can say that the wait is for nothing. The twin hands the address over.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1 %run %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,syncs=1 %run %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: it is not known what memory is used by kernel keep() ([[KEEP]]) besides what the arguments lead to (module variables, constants, pointers kept in memory). Nothing else needs the call. --footprints=measured finds it out, except for constants.
// TWIN: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
#include "syncs.h"

__device__ float kept;

__global__ void keep() { kept = 1; }
__global__ void keep_there(float* where) { *where = 1; }

int main(int argc, char** argv) {
  begin(argc, argv);
  float* a = device_floats();
  cudaStream_t stream = non_blocking_stream();
#ifdef TWIN
  keep_there<<<1, 1, 0, stream>>>(a);
#else
  keep<<<1, 1, 0, stream>>>();  // @KEEP
#endif
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_set(stream, a, 2);
  finish(stream, a, 2);
}
