// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel in the default stream reads what the first stream wrote and writes what the second one reads: the barrier
// is the order that the program needs.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: legacy-serialisation: kernel other(char*)
// CHECK-NOT: NOTE: streamsan: legacy
#include "must.h"

__global__ void left(char*) {}
__global__ void right(char*) {}
__global__ void other(char*) {}
__global__ void join(const char*, char*) {}

int main() {
  char *a, *b, *c;
  for (char** each : {&a, &b, &c}) must(cudaMalloc(each, 4096));
  cudaStream_t s1, s2;
  for (cudaStream_t* each : {&s1, &s2}) must(cudaStreamCreate(each));
  for (int i = 0; i < 8; ++i) {
    left<<<1, 32, 0, s1>>>(a);
#ifdef FIXED
    join<<<1, 32>>>(a, b);
#else
    other<<<1, 32>>>(c);
#endif
    right<<<1, 32, 0, s2>>>(b);
    must(cudaDeviceSynchronize());
  }
}
