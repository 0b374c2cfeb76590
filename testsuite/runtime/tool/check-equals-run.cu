// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded without the launcher, the recorder leaves a trace; `streamsan check` finds in it what `streamsan run`
// finds, and says it in the same words.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.run.json -- %t > %t.run.txt 2>&1
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %expect 66 %streamsan check --json %t.check.json %t.trace 2>&1 | %report
// RUN: %json --stable %t.run.json > %t.run.flat
// RUN: %json --stable %t.check.json > %t.check.flat
// RUN: diff %t.run.flat %t.check.flat
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: main{{.*}}[[CLEAR]]
// CHECK: LATENT: streamsan:
// CHECK: main{{.*}}[[FREE]]
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @CLEAR
  consume<<<1, 32, 0, s2>>>(buffer);           // @READ
  must(cudaGetLastError());
  must(cudaFree(buffer));  // @FREE
}
