// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A race in a loop is one report with a count, not a hundred reports.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json -- %t 2>&1 | %report
// RUN: %json %t.json | %sites --check-prefix=JSON
//
// CHECK-COUNT-1: ERROR: streamsan:
// CHECK: main{{.*}}[[COPY]]
// CHECK: main{{.*}}[[CLEAR]]
// CHECK-NOT: ERROR: streamsan:
//
// JSON: findings.size = 1
// JSON: findings[0].count = 100
#include "must.h"

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  for (int i = 0; i < 100; ++i) {
    must(cudaMemsetAsync(buffer, i, kBytes, s1));                             // @CLEAR
    must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s2));  // @COPY
    must(cudaDeviceSynchronize());
  }
}
