// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// min_severity chooses what is printed: `latent` and above by default, `possible` on request, errors alone if so
// wished. The JSON has all of them, and only an error changes the exit code.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %streamsan run --json %t.json -- %t 2>&1 | %filecheck %s
// RUN: %json %t.json | grep -E 'severity|summary' | %filecheck %s --check-prefix=JSON
// RUN: env STREAMSAN_OPTIONS=min_severity=possible %expect 0 %run %t 2>&1 | %filecheck %s --check-prefixes=POSSIBLE
// RUN: env STREAMSAN_OPTIONS=min_severity=error %expect 0 %run %t 2>&1 | %filecheck %s --allow-empty --check-prefix=NONE
//
// CHECK-NOT: POSSIBLE
// CHECK: LATENT: streamsan: free-while-in-use
// CHECK-NOT: POSSIBLE
// JSON-DAG: severity = "latent"
// JSON-DAG: severity = "possible"
// JSON-DAG: summary.errors = 0
// JSON-DAG: summary.latent = 1
// JSON-DAG: summary.possible = 1
// POSSIBLE-DAG: LATENT: streamsan: free-while-in-use
// POSSIBLE-DAG: POSSIBLE: streamsan: write-after-write
// NONE-NOT: {{LATENT|POSSIBLE|ERROR}}:
#include "must.h"

__global__ void fill(float*, int) {}

int main() {
  float *sliced, *freed;
  must(cudaMalloc(&sliced, 1 << 20));
  must(cudaMalloc(&freed, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  fill<<<1, 32, 0, s1>>>(sliced, 0);
  fill<<<1, 32, 0, s2>>>(sliced, 1);
  must(cudaGetLastError());
  must(cudaMemsetAsync(freed, 0, 4096, s1));
  must(cudaFree(freed));
}
