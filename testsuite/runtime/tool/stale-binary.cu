// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between recording and `streamsan check` the program was built again. Its path is the same, its build id is not, and lines of
// the new binary would be wrong for the old addresses: no lines are better than wrong ones.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %expect 66 %streamsan check %t.trace 2>&1 | %report
// RUN: %build -DREBUILT %s -o %t
// RUN: %expect 66 %streamsan check %t.trace 2>&1 | %sites --check-prefix=STALE
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
// STALE: ERROR: streamsan: write-after-write
// STALE-NOT: stale-binary.cu:
#include "must.h"

#ifdef REBUILT
void moves_everything(char* buffer) { must(cudaMemset(buffer, 0, 17)); }
#endif

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
}
