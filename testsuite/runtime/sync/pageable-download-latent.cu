// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous download into pageable memory blocks on today's driver (R-CPY-14), which nobody promised: work that
// relies on it is a latent finding with exit code 0, and names the rule.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan: write-after-read
// CHECK: main{{.*}}[[WRITE]]
// CHECK: main{{.*}}[[READ]]
// CHECK: R-CPY-14
#include "must.h"

int main() {
  static char host[1 << 16];
  char* buffer;
  must(cudaMalloc(&buffer, sizeof host));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemcpyAsync(host, buffer, sizeof host, cudaMemcpyDeviceToHost, s1));  // @READ
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  must(cudaMemsetAsync(buffer, 0, sizeof host, s2));  // @WRITE
}
