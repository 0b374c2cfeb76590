// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guest is killed by SIGKILL in the middle of its work. What it had done until then is in the report.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %expect 137 %run %t.fixed 2>&1 | %sites --check-prefix=FIXED --allow-empty
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// CHECK: SUMMARY: streamsan:
// FIXED-NOT: ERROR
#include <csignal>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  std::raise(SIGKILL);
}
