// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that comes with a free is not an order to build on: what is unordered without it is reported as latent, with
// the rule that carries it today.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DNO_FREE %s -o %t.nofree
// RUN: %racy %t.nofree 2>&1 | %sites --check-prefix=RACE
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK: R-ALC-02
//
// RACE: ERROR: streamsan: write-after-write
// RACE: main{{.*}}[[SECOND]]
// RACE: main{{.*}}[[FIRST]]
#include "must.h"

int main() {
  char *buffer, *unrelated;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMalloc(&unrelated, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 1, 4096, s1));  // @FIRST
#ifndef NO_FREE
  must(cudaFree(unrelated));
#endif
  must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
}
