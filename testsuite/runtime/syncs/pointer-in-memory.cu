// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that follows a pointer kept in device memory: what it writes there has no order that could be seen. The twin
// uses an index that it finds in memory, which leads into the memory of its argument all the same.
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
__global__ void scatter(float* out, const int* where) { out[*where] = 1; }

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *where = device_floats();
  cudaStream_t stream = non_blocking_stream();
  float** table = reinterpret_cast<float**>(pinned_floats());
  *table = a;
  must(cudaMemcpyAsync(where, table, sizeof a, cudaMemcpyHostToDevice, stream));
#ifdef TWIN
  scatter<<<1, 1, 0, stream>>>(a, reinterpret_cast<int*>(where + 64));
#else
  follow<<<1, 1, 0, stream>>>(reinterpret_cast<float**>(where));  // @FOLLOW
#endif
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_set(stream, a, 2);
  finish(stream, a, 2);
}
