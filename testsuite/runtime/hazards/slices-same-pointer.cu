// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The usual way to slice: every launch gets the start of the allocation and finds its part by an index argument.
// Launches of one kernel that differ in an argument may be disjoint: no error. Launches that agree in all arguments
// do the same work on the same bytes: an error.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.sliced
// RUN: %expect 0 %run %t.sliced 2>&1 | %filecheck %s --check-prefix=SLICED --allow-empty
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write{{.*}}fill(float*, int)
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK: write{{.*}}fill(float*, int)
// CHECK: main{{.*}}[[LAUNCH]]
//
// SLICED-NOT: ERROR
#include "must.h"

__global__ void fill(float*, int) {}

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 1 << 20));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
#ifdef FIXED
    int slice = i;
#else
    int slice = 0;
#endif
    fill<<<8, 128, 0, stream>>>(buffer, slice);  // @LAUNCH
    must(cudaGetLastError());
  }
}
