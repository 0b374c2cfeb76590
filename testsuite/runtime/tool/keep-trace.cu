// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// keep_trace=1 leaves the traces of a run, and says how to judge them again; otherwise a run leaves nothing behind.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: env STREAMSAN_OPTIONS=trace_dir=%t.dir %racy %t
// RUN: sh -c 'test -z "$(ls %t.dir)"'
// RUN: env STREAMSAN_OPTIONS=trace_dir=%t.dir:keep_trace=1 %racy %t 2> %t.err
// RUN: %sites --check-prefixes=CHECK,KEPT --input-file %t.err
// RUN: sh -c '%expect 66 %streamsan check %t.dir/*/*.trace' 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// KEPT: streamsan check {{.*}}.trace
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
}
