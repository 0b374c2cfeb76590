// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel reaches no further than its block: with the annotation two kernels on two blocks of one allocation are not even a
// possible conflict.
//
// RUN: %build %s -o %t.plain
// RUN: %streamsan run --min_severity=possible -- %t.plain 2>&1 | %report
// RUN: %build -DANNOTATED %s -o %t
// RUN: %expect 0 %streamsan run --min_severity=possible -- %t 2>&1 | %sites --check-prefix=APART --allow-empty
//
// CHECK: POSSIBLE: streamsan: {{.*}}race
// APART-NOT: {{.}}
#include "caching_pool.h"

__global__ void fill(char*) {}
__global__ void increment(char*) {}

int main() {
  CachingPool pool;
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  fill<<<1, 32, 0, s1>>>(pool.allocate(s1));
  increment<<<1, 32, 0, s2>>>(pool.allocate(s2));
}
