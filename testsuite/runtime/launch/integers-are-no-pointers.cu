// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only words that point into a live allocation are accesses. Sizes, flags and pointers that were freed are not, and a
// pointer past the end of a buffer is not one into the next.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DFREED %s -o %t.freed
// RUN: env STREAMSAN_OPTIONS=min_severity=possible %expect 0 %run %t.freed 2>&1 | %sites --check-prefix=FREED
// RUN: %build -DPOINTER %s -o %t.pointer
// RUN: %racy %t.pointer 2>&1 | %report
//
// CHECK: ERROR: streamsan:
// CHECK: main{{.*}}[[KERNEL]]
// CHECK: main{{.*}}[[CLEAR]]
//
// FREED-NOT: ERROR
// FREED: POSSIBLE: streamsan: use-after-free
// FREED: main{{.*}}[[KERNEL]]
#include "must.h"

__global__ void work(size_t, double, const char*, const char*) {}

int main() {
  char *buffer, *freed, *other;
  must(cudaMalloc(&other, 4096));
  must(cudaMalloc(&buffer, 4096));
  must(cudaMalloc(&freed, 1 << 25));
  must(cudaFree(freed));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @CLEAR
#ifdef POINTER
  const char* argument = buffer;
#else
  const char* argument = other;
#endif
#ifdef FREED
  const char* second = freed;  // perhaps it is not followed
#else
  const char* second = freed + (1 << 26);  // no allocation was ever there
#endif
  work<<<1, 32, 0, s2>>>(4096, 0.5, argument, second);  // @KERNEL
  must(cudaGetLastError());
}
