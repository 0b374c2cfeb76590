// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host has waited for the first stream before the kernel in the default stream is launched: the barrier holds
// nobody up.
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

int main() {
  char *a, *b, *c;
  for (char** each : {&a, &b, &c}) must(cudaMalloc(each, 4096));
  cudaStream_t s1, s2;
  for (cudaStream_t* each : {&s1, &s2}) must(cudaStreamCreate(each));
  for (int i = 0; i < 10; ++i) {
    left<<<1, 32, 0, s1>>>(a);
#ifdef FIXED
    left<<<1, 32, 0, s2>>>(b);
    must(cudaDeviceSynchronize());
#endif
    other<<<1, 32>>>(c);
    right<<<1, 32, 0, s2>>>(b);
    must(cudaDeviceSynchronize());
  }
}
