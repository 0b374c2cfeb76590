// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// halt_on_error=1 ends the program at its first error; it would otherwise run for ever.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=halt_on_error=1 %racy %t 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <unistd.h>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  for (;;) pause();
}
