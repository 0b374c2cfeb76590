// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream for each request; its twin uses one for all.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaStreamCreate and cudaStreamDestroy are called again and again between kernels: 200 and 200 times.
// CHECK-NEXT: Evidence: 199 of 200 calls of cudaStreamCreate come after the end of what an earlier one made, with 199 kernels in between in all. Creating and destroying a stream takes as long as launching a few kernels.
// CHECK-NEXT: cudaStreamCreate
// CHECK-NEXT: main{{.*}}[[CREATE]]
// CHECK-NEXT: cudaStreamDestroy
// CHECK-NEXT: main{{.*}}[[DESTROY]]
// CHECK: Fix: create the stream before the loop and use it again.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void step(char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
#ifdef FIXED
  must(cudaStreamCreate(&stream));
#endif
  for (int i = 0; i < 200; ++i) {
#ifndef FIXED
    must(cudaStreamCreate(&stream));  // @CREATE
#endif
    step<<<1, 32, 0, stream>>>(buffer);
    must(cudaStreamSynchronize(stream));
#ifndef FIXED
    must(cudaStreamDestroy(stream));  // @DESTROY
#endif
  }
}
