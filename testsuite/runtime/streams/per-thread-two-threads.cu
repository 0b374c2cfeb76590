// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each host thread has a default stream of its own: two threads that use "the default stream" use two streams
// (R-STR-03). With the legacy default stream the same source is ordered.
//
// RUN: %build_ptds %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build %s -o %t.legacy
// RUN: %silent %t.legacy
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume{{.*}}per-thread
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}}per-thread
// CHECK: [[WRITE]]
#include <thread>

#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  std::thread([buffer] {
    produce<<<1, 32>>>(buffer);  // @WRITE
    must(cudaGetLastError());
  }).join();
  consume<<<1, 32>>>(buffer);  // @READ
  must(cudaGetLastError());
}
