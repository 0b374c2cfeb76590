// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order that CUDA calls do not show is believed: between two streams that a flag in memory connects, and by way of a host
// thread. The order has a direction, and is that of one object.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DSTREAMS %s -o %t.streams
// RUN: %silent %t.streams
// RUN: %build -DHOST %s -o %t.host
// RUN: %silent %t.host
// RUN: %build -DBACKWARDS %s -o %t.backwards
// RUN: %racy %t.backwards 2>&1 | %report
// RUN: %build -DOTHER_OBJECT %s -o %t.other
// RUN: %racy %t.other 2>&1 | %report
// RUN: %build -DTOO_EARLY %s -o %t.early
// RUN: %racy %t.early 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <streamsan/annotate.h>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  int flag = 0, other = 0;
  (void)flag, (void)other;
#ifdef TOO_EARLY
  streamsan_happens_before(&flag, s1);
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
#ifdef BACKWARDS
  streamsan_happens_before(&flag, s2);
  streamsan_happens_after(&flag, s1);
#endif
#if defined(STREAMS) || defined(HOST)
  streamsan_happens_before(&flag, s1);
#endif
#ifdef OTHER_OBJECT
  streamsan_happens_before(&other, s1);
#endif
#if defined(STREAMS) || defined(TOO_EARLY) || defined(OTHER_OBJECT)
  streamsan_happens_after(&flag, s2);
#endif
#ifdef HOST
  streamsan_happens_after(&flag, STREAMSAN_HOST);
#endif
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
}
