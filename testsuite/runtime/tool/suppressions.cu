// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A suppressions file hides a finding, and with it the exit code; the summary says how many were hidden. An entry that
// hid nothing is named. gen_suppressions=1 prints a line that can be pasted and then works.
//
// RUN: %build %s -o %t
// RUN: echo "kernel:consume" > %t.supp
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp %silent %t
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp:verbosity=1 %expect 0 %run %t 2>&1 | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp:print_suppressions=1 %expect 0 %run %t 2>&1 | %filecheck %s --check-prefix=PRINT
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.supp %streamsan run --json %t.json -- %t
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: echo "race:nothing_of_this_name" > %t.unused
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.unused %expect 66 %run %t 2>&1 | %filecheck %s --check-prefix=UNUSED
// RUN: env STREAMSAN_OPTIONS=gen_suppressions=1 %expect 66 %run %t 2>&1 | grep -E '^(race|fingerprint):' > %t.generated
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.generated %expect 0 %run %t
// RUN: env STREAMSAN_OPTIONS=suppressions=%t.missing %expect 2 %run %t 2>&1 | %filecheck %s --check-prefix=MISSING
//
// CHECK-NOT: ERROR
// CHECK: SUMMARY: streamsan:{{.*}}1 suppressed
// PRINT: {{1.*kernel:consume|kernel:consume.*1}}
// JSON: findings[0].suppressed = true
// JSON: summary.errors = 0
// JSON: summary.suppressed = 1
// UNUSED-DAG: ERROR: streamsan: read-after-write
// UNUSED-DAG: nothing_of_this_name
// MISSING: suppressions{{.*}}.missing
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));
  consume<<<1, 32, 0, s2>>>(buffer);
  must(cudaGetLastError());
}
