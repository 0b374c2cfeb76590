// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of a pool is used in a second stream, and the pool does not know: it hands the block out again while the second
// stream may still write it. That is seen at once, though this time the bytes do not even meet; without annotation it is
// one large allocation, and nothing is wrong with it.
//
// RUN: %build -DANNOTATED %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build %s -o %t.plain
// RUN: %silent %t.plain
//
// The pool is asked, and waits; or the program itself makes the first stream wait before it gives the block back.
// RUN: %build -DANNOTATED -DASKED %s -o %t.asked
// RUN: %silent %t.asked
// RUN: %build -DANNOTATED -DJOINED %s -o %t.joined
// RUN: %silent %t.joined
// RUN: %build -DANNOTATED -DWAITED %s -o %t.waited
// RUN: %silent %t.waited
//
// CHECK: ERROR: streamsan: reuse-while-in-use {{.*}}device memory
// CHECK: the pool
// CHECK: CachingPool::allocate
// CHECK: main{{.*}}[[AGAIN]]
// CHECK: cudaMemsetAsync on stream 2
// CHECK: main{{.*}}[[USE]]
// CHECK: Buffer {{.*}}[4096 bytes] allocated by the pool
// CHECK: main{{.*}}[[FIRST]]
// CHECK: The pool was not asked to wait for stream 2.
// CHECK: Fix: tell the pool that stream 2 uses the block
// CHECK-SAME: before it goes back
// CHECK-NOT: release-while-in-use
// CHECK: SUMMARY: streamsan: 1 error
#include "caching_pool.h"

int main() {
  CachingPool pool;
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  cudaEvent_t ready, used;
  must(cudaEventCreate(&ready));
  must(cudaEventCreate(&used));

  char* block = pool.allocate(s1);  // @FIRST
  must(cudaMemsetAsync(block, 1, 1024, s1));
  must(cudaEventRecord(ready, s1));
  must(cudaStreamWaitEvent(s2, ready));
  must(cudaMemsetAsync(block + 2048, 1, 1024, s2));  // @USE
#ifdef ASKED
  pool.record_stream(block, s2);
#endif
#ifdef JOINED
  must(cudaEventRecord(used, s2));
  must(cudaStreamWaitEvent(s1, used));
#endif
#ifdef WAITED
  must(cudaStreamSynchronize(s2));
#endif
  pool.release(block);

  char* again = pool.allocate(s1);  // @AGAIN
  must(again == block ? cudaSuccess : cudaErrorUnknown);
  must(cudaMemsetAsync(again, 2, 1024, s1));
  pool.release(again);
}
