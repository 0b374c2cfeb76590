// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// abort() and a crash end the guest as they would without StreamSan (128 + signal for a shell), and the report is
// there.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %run %t abort 2>&1 | %report
// RUN: %expect 66 %run %t crash 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <csignal>

#include "must.h"

int main(int, char** argv) {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  if (argv[1][0] == 'a') std::abort();
  std::raise(SIGSEGV);
}
