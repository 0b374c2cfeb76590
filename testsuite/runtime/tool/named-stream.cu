// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams are numbered in the order of their creation, and the two sides of a report are never confused: the stream
// that is named second was first.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %filecheck %s
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by {{.*}}on stream [[#LATER:]] (non-blocking), op #[[#OP:]]
// CHECK: Previous write by {{.*}}on stream [[#LATER-2]] (blocking), op #[[#OP-1]]
// CHECK: streams=stream-[[#LATER-2]],stream-[[#LATER]] ops=[[#OP-1]],[[#OP]]
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, unused, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&unused));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));
  must(cudaMemsetAsync(buffer, 1, 4096, s2));
}
