// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The legacy default stream as the meeting point of blocking streams (R-STR-10): a kernel in it is after both producers
// and before the consumer. The twin runs the middle kernel in a stream of its own.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DOWN_STREAM %s -o %t.own
// RUN: %racy %t.own 2>&1 | %report
//
// CHECK-DAG: ERROR: streamsan: write-after-write
// CHECK-DAG: main{{.*}}[[MIDDLE]]
// CHECK-DAG: main{{.*}}[[FIRST]]
// CHECK-DAG: main{{.*}}[[LAST]]
#include "must.h"

__global__ void produce(char*) {}
__global__ void middle(char*, char*) {}
__global__ void consume(const char*) {}

int main() {
  char *a, *b;
  must(cudaMalloc(&a, 4096));
  must(cudaMalloc(&b, 4096));
  cudaStream_t s1, s2, own = nullptr;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef OWN_STREAM
  must(cudaStreamCreate(&own));
#endif
  produce<<<1, 32, 0, s1>>>(a);  // @FIRST
  produce<<<1, 32, 0, s2>>>(b);
  middle<<<1, 32, 0, own>>>(a, b);  // @MIDDLE
  consume<<<1, 32, 0, s1>>>(b);     // @LAST
  must(cudaGetLastError());
}
