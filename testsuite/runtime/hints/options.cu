// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints are printed when they are asked for, by run and by check, at any min_severity; they change no exit code, are counted
// as notes, stand in the JSON file, and can be suppressed.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: env STREAMSAN_OPTIONS=hints=1:min_severity=error %expect 0 %run %t 2>&1 | %report
// RUN: %streamsan run --hints --json %t.json -- %t 2>&1 | %report
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: echo "hint:^main" > %t.supp
// RUN: env STREAMSAN_OPTIONS=hints=1:suppressions=%t.supp %silent %t
// RUN: echo "race:main" > %t.other
// RUN: env STREAMSAN_OPTIONS=hints=1:suppressions=%t.other %expect 0 %run %t 2>&1 | %report
// RUN: env STREAMSAN_OPTIONS=hints=1:gen_suppressions=1 %run %t 2>&1 | %filecheck %s --check-prefix=GENERATED
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: env STREAMSAN_OPTIONS=trace_dir=%t.dir:keep_trace=1 %run %t
// RUN: sh -c '%streamsan check %t.dir/*/*.trace' 2>&1 | %filecheck %s --check-prefix=NONE --allow-empty
// RUN: sh -c '%streamsan check --hints %t.dir/*/*.trace' 2>&1 | %report
//
// CHECK: NOTE: streamsan: alloc-in-loop: cudaMalloc and cudaFree
// CHECK: SUMMARY: streamsan: no errors, 1 note; 40 operations in 1 process
// JSON-DAG: findings[0].kind = "hint"
// JSON-DAG: findings[0].severity = "note"
// JSON-DAG: findings[0].hazard = "alloc-in-loop"
// JSON-DAG: summary.notes = 1
// GENERATED: {{^}}fingerprint:{{[0-9a-f]+$}}
// NONE-NOT: NOTE
#include "must.h"

__global__ void step(char*) {}

int main() {
  for (int i = 0; i < 20; ++i) {
    char* buffer;
    must(cudaMalloc(&buffer, 4096));
    step<<<1, 32>>>(buffer);
    must(cudaDeviceSynchronize());
    must(cudaFree(buffer));
  }
}
