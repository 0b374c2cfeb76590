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
