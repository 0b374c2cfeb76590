// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel without a stream between work of two streams: the second stream waits for the first. Non-blocking streams do
// not.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: legacy-serialisation: kernel other(char*) in the legacy default stream makes independent streams wait for each other.
// CHECK-NEXT: Evidence: 10 times it stood between work of two blocking streams that share no memory, and nothing had waited for the first: so op #2 between op #1 in stream 1 and op #3 in stream 2. It starts after all work in blocking streams, and their later work starts after it.
// CHECK-NEXT: kernel other(char*) on the legacy default stream, op #2
// CHECK-NEXT: main{{.*}}[[OTHER]]
// CHECK-NEXT: kernel left(char*) on stream 1 (blocking), op #1
// CHECK-NEXT: main{{.*}}[[LEFT]]
// CHECK-NEXT: kernel right(char*) on stream 2 (blocking), op #3
// CHECK-NEXT: main{{.*}}[[RIGHT]]
// CHECK-NEXT: Fix: create the streams with cudaStreamNonBlocking and let those that need its results wait for an event, or compile with --default-stream per-thread.
// CHECK-NEXT: kind=hint hazard=legacy-serialisation severity=note cause=legacy-serialisation
// CHECK-NOT: NOTE: streamsan: legacy
#include "must.h"

__global__ void left(char*) {}
__global__ void right(char*) {}
__global__ void other(char*) {}

int main() {
  char *a, *b, *c;
  for (char** each : {&a, &b, &c}) must(cudaMalloc(each, 4096));
  cudaStream_t s1, s2;
#ifdef FIXED
  for (cudaStream_t* each : {&s1, &s2}) must(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking));
#else
  for (cudaStream_t* each : {&s1, &s2}) must(cudaStreamCreate(each));
#endif
  for (int i = 0; i < 10; ++i) {
    left<<<1, 32, 0, s1>>>(a);   // @LEFT
    other<<<1, 32>>>(c);         // @OTHER
    right<<<1, 32, 0, s2>>>(b);  // @RIGHT
    must(cudaDeviceSynchronize());
  }
}
