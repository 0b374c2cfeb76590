// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block comes back for another stream than the one that uses it, and that stream gets it next.
//
// RUN: %build -DANNOTATED %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DANNOTATED -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: reuse-while-in-use
// CHECK: main{{.*}}[[AGAIN]]
// CHECK: cudaMemsetAsync on stream 1
// CHECK: main{{.*}}[[USE]]
#include "caching_pool.h"

int main() {
  CachingPool pool;
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  char* block = pool.allocate(s1);
  must(cudaMemsetAsync(block, 1, 1024, s1));  // @USE
#ifdef FIXED
  cudaEvent_t used;
  must(cudaEventCreate(&used));
  must(cudaEventRecord(used, s1));
  must(cudaStreamWaitEvent(s2, used));
#endif
  pool.release(block, s2);
  pool.allocate(s2);  // @AGAIN
}
