// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two streams, and the host waits for each before it gives work to the other. Its twin waits for both together.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: streams-never-overlap: stream 1 and stream 2 never overlap: each piece of work in one comes after all before it in the other.
// CHECK-NEXT: Evidence: 20 pieces of work took 19 turns from stream to stream, and each was ordered after the one before: 10 by cudaStreamSynchronize ([[FIRST]]), in which the host waited, 9 by cudaStreamSynchronize ([[SECOND]]), in which the host waited. In 19 of them the two pieces share no memory. Streams that take turns are not faster than one.
// CHECK-NEXT: cudaStreamSynchronize
// CHECK-NEXT: main{{.*}}[[FIRST]]
// CHECK-NEXT: cudaStreamSynchronize
// CHECK-NEXT: main{{.*}}[[SECOND]]
// CHECK-NEXT: Fix: do not order independent work there (--syncs tells what the waits are needed for), or use one stream.
// CHECK-NEXT: kind=hint hazard=streams-never-overlap severity=note cause=streams-never-overlap count=1
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void left(char*) {}
__global__ void right(char*) {}

int main() {
  char *a, *b;
  for (char** each : {&a, &b}) must(cudaMalloc(each, 4096));
  cudaStream_t s1, s2;
  for (cudaStream_t* each : {&s1, &s2}) must(cudaStreamCreate(each));
  for (int i = 0; i < 10; ++i) {
    left<<<1, 32, 0, s1>>>(a);
#ifndef FIXED
    must(cudaStreamSynchronize(s1));  // @FIRST
#endif
    right<<<1, 32, 0, s2>>>(b);
    must(cudaStreamSynchronize(s2));  // @SECOND
#ifdef FIXED
    must(cudaStreamSynchronize(s1));
#endif
  }
}
