// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block goes back while a second stream may still use it, and is never handed out again: nothing has gone wrong yet.
//
// RUN: %build -DANNOTATED %s -o %t
// RUN: %run %t 2>&1 | %report
// RUN: %build -DANNOTATED -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: streamsan: release-while-in-use {{.*}}device memory
// CHECK: main{{.*}}[[BACK]]
// CHECK: consume
// CHECK: main{{.*}}[[USE]]
// CHECK: severity=latent
#include "caching_pool.h"

__global__ void consume(const char*) {}

int main() {
  CachingPool pool;
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  char* block = pool.allocate(s1);
  consume<<<1, 32, 0, s2>>>(block);  // @USE
#ifdef FIXED
  pool.record_stream(block, s2);
#endif
  pool.release(block);  // @BACK
}
