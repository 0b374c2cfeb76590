// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two phases of a program, each with a stream of its own: they do not take turns.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: streams-never-overlap: stream 1 and stream 2 never overlap
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
#ifdef FIXED
  for (int i = 0; i < 30; ++i) left<<<1, 32, 0, s1>>>(a);
  must(cudaDeviceSynchronize());
  for (int i = 0; i < 30; ++i) right<<<1, 32, 0, s2>>>(b);
#else
  for (int i = 0; i < 30; ++i) {
    left<<<1, 32, 0, s1>>>(a);
    must(cudaDeviceSynchronize());
    right<<<1, 32, 0, s2>>>(b);
    must(cudaDeviceSynchronize());
  }
#endif
  must(cudaDeviceSynchronize());
}
