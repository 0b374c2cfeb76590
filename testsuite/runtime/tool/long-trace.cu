// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// More work than one chunk of the trace holds: the judge follows, nothing is lost, and memory does not grow with the
// trace.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json -- %t 2>&1 | %report
// RUN: %json %t.json | %sites --check-prefix=JSON
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK-NOT: ERROR: streamsan:
// JSON: summary.operations = 300002
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  for (int i = 0; i < 300000; ++i) must(cudaMemsetAsync(buffer, i, 16, s1));
  must(cudaMemsetAsync(buffer + 1024, 0, 16, s1));  // @FIRST
  must(cudaMemsetAsync(buffer + 1024, 1, 16, s2));  // @SECOND
}
