// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run, all formats: a race and a free that only today's driver orders, and their repaired twins. Then the same
// formats made of the JSON file.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json --sarif %t.sarif --junit %t.xml --perfetto %t.perfetto.json --github -- %t > %t.out 2> %t.err
// RUN: %python %S/inputs/check_sarif.py %t.sarif | %sites --check-prefix=SARIF
// RUN: %python %S/inputs/check_junit.py %t.xml | %sites --check-prefix=JUNIT
// RUN: %python %S/inputs/check_perfetto.py %t.perfetto.json | %filecheck %s --check-prefix=PERFETTO
// RUN: %sites --check-prefix=GITHUB --input-file %t.out
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %expect 0 %streamsan run --json %t.fixed.json --sarif %t.fixed.sarif --junit %t.fixed.xml --github -- %t.fixed > %t.fixed.out 2>&1
// RUN: not test -s %t.fixed.out
// RUN: %python %S/inputs/check_sarif.py %t.fixed.sarif | %filecheck %s --check-prefix=CLEAN-SARIF
// RUN: %python %S/inputs/check_junit.py %t.fixed.xml | %filecheck %s --check-prefix=CLEAN-JUNIT
//
// RUN: %expect 66 %streamsan report --sarif=%t.again.sarif --junit=%t.again.xml --json=%t.again.json %t.json
// RUN: diff %t.sarif %t.again.sarif
// RUN: diff %t.xml %t.again.xml
// RUN: diff %t.json %t.again.json
// RUN: %expect 66 %streamsan report --sarif %t.json | diff %t.sarif -
// RUN: %expect 66 %streamsan report --github %t.json | %sites --check-prefix=GITHUB
// RUN: %expect 66 %streamsan report %t.json | %sites --check-prefix=TEXT
// RUN: %expect 66 %streamsan report - < %t.json | %sites --check-prefix=TEXT
// RUN: %expect 0 %streamsan report --text --junit=%t.again.xml %t.fixed.json | %filecheck %s --check-prefix=CLEAN-TEXT
//
// SARIF: streamsan-read-after-write-race error {{.*}}[[READ]] lanes: 1: stream 1 2: stream 2
// SARIF: streamsan-free-while-in-use warning {{.*}}[[FREE]] lanes: 1: stream {{[12]}} 2: the host
// SARIF: successful: True exit code: 66
// JUNIT: passed streamsan the run was judged -:-
// JUNIT: failure streamsan.race read-after-write race in main {{.*}}[[READ]]
// JUNIT: skipped streamsan.premature-free free-while-in-use in main {{.*}}[[FREE]]
// PERFETTO-DAG: slice on stream 1 (blocking): {{.*}}emset
// PERFETTO-DAG: slice on stream 2 (blocking): kernel consume(char const*)
// PERFETTO-DAG: instant on stream 2 (blocking): error: read-after-write race
// PERFETTO-DAG: finding arrow, no order: {{.*}}emset{{.*}} on stream 1 (blocking) -> kernel consume(char const*) on stream 2 (blocking)
// GITHUB: ::error file={{.*}}all.cu,line={{[0-9,col=]+}},title=streamsan%3A read-after-write race::{{.*}}%0AFix:
// GITHUB: ::warning file={{.*}}all.cu,line={{[0-9]+}},
// TEXT: ERROR: streamsan: read-after-write
// TEXT: LATENT: streamsan: free-while-in-use
// TEXT: SUMMARY: streamsan: 1 error, 2 latent; first: read-after-write race
// CLEAN-SARIF-NOT: streamsan-
// CLEAN-SARIF: successful: True exit code: 0
// CLEAN-JUNIT: passed streamsan the run was judged
// CLEAN-JUNIT-NOT: streamsan
// CLEAN-TEXT: SUMMARY: streamsan: no errors; {{[1-9][0-9]*}} operations in 1 process
#include "must.h"

__global__ void consume(const char*) {}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s1));
  consume<<<1, 32, 0, s2>>>(buffer);  // @READ
  must(cudaGetLastError());
#ifdef FIXED
  must(cudaDeviceSynchronize());
#endif
  must(cudaFree(buffer));  // @FREE
}
