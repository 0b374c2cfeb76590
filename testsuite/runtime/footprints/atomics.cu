// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of two streams that count in one word by atomic operations do not race with one another. One that reads the
// word does.
//
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %measured FIXED %silent %t.fixed
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %racy %t 2>&1 | %report
//
// FIXED: count atomic #0 4
// SCRIPT: count atomic #0 4
// SCRIPT: look read #0 4
// SCRIPT: look write #1 4
//
// CHECK: ERROR: streamsan: {{.*}}[4 bytes overlap]
// CHECK: Read by kernel look
// CHECK: main{{.*}}[[LOOK]]
// CHECK: main{{.*}}[[COUNT]]
#include "must.h"

__global__ void count(int* word, int) { atomicAdd(word, 1); }
__global__ void look(int* word, int* out) { *out = *word; }

int main() {
  int *word, *out;
  must(cudaMalloc(&word, 256));
  must(cudaMalloc(&out, 256));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  count<<<1, 32, 0, s1>>>(word, 1);  // @COUNT
  must(cudaGetLastError());
#ifdef FIXED
  count<<<1, 32, 0, s2>>>(word, 2);
#else
  look<<<1, 1, 0, s2>>>(word, out);  // @LOOK
#endif
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
