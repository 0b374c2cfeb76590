// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// log_path: reports go to a file whose name may hold the process id, the program, the host and environment variables;
// its directory is made.
//
// RUN: %build %s -o %t
// RUN: rm -rf %t.logs
// RUN: env RANK=12 STREAMSAN_OPTIONS=log_path=%t.logs/new/%%b.%%q{RANK}.%%p.log %expect 66 %run %t > %t.out 2>&1
// RUN: %filecheck %s --allow-empty --check-prefix=OUT --input-file %t.out
// RUN: ls %t.logs/new | %filecheck %s --check-prefix=NAME
// RUN: cat %t.logs/new/*.log | %filecheck %s
//
// As for text, so for all formats: with %p each process has a file, with %b each program.
//
// RUN: rm -rf %t.out.d
// RUN: %expect 66 %streamsan run --json=%t.out.d/%%b.%%p.json --sarif=%t.out.d/%%q{NONE}all.sarif --junit=%t.out.d/%%b.xml -- sh -c '%t; %t' > %t.out 2>&1
// RUN: ls %t.out.d | %filecheck %s --check-prefix=FILES
// RUN: cat %t.out.d/*.json | %filecheck %s --check-prefix=JSON
// RUN: %filecheck %s --check-prefix=TWICE --input-file %t.out
//
// FILES: all.sarif
// FILES-NEXT: log-path.cu.tmp.[[FIRST:[0-9]+]].json
// FILES-NEXT: log-path.cu.tmp.{{[0-9]+}}.json
// FILES-NEXT: log-path.cu.tmp.xml
// JSON-COUNT-2: "errors": 1,
// TWICE: ==[[FIRST:[0-9]+]]== ERROR: streamsan: write-after-write
// TWICE: Fix:
// TWICE: ERROR: streamsan: write-after-write race: the same places as in the report of process [[FIRST]]
// TWICE-NOT: Fix:
//
// A path with a blank and a colon stands in quotes.
//
// RUN: env STREAMSAN_OPTIONS="log_path='%t.logs/a b:c/x.log'" %expect 66 %run %t
// RUN: %filecheck %s --input-file "%t.logs/a b:c/x.log"
//
// OUT-NOT: ERROR
// NAME: log-path.cu.tmp.12.{{[0-9]+}}.log
// CHECK: ERROR: streamsan: write-after-write
// CHECK: SUMMARY: streamsan:
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));
  }
}
