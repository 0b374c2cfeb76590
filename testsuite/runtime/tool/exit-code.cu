// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exit code: 66 if there is an error, whatever the program's own; exitcode=N chooses another code, 0 leaves the
// program's own.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %run %t 0 2>&1 | %filecheck %s
// RUN: %expect 66 %run %t 3 2>&1 | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %expect 0 %run %t 0 2>&1 | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=exitcode=42 %expect 42 %run %t 0 2>&1 | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=exitcode=0 %expect 3 %run %t 3 2>&1 | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=exitcode=42 %expect 42 %run %t 3 2>&1 | %filecheck %s
//
// CHECK: ERROR: streamsan: write-after-write
#include "must.h"

int main(int, char** argv) {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));
  }
  return std::atoi(argv[1]);
}
