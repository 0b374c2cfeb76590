// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool without streams: what it hands out may be used at once by everybody, so the host must have waited.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: reuse-while-in-use
// CHECK: main{{.*}}[[AGAIN]]
// CHECK: cudaMemsetAsync on stream 1
// CHECK: main{{.*}}[[USE]]
#include <streamsan/annotate.h>

#include "must.h"

int main() {
  char* arena;
  must(cudaMalloc(&arena, 65536));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  streamsan_block_allocated(arena, 4096, STREAMSAN_HOST);
  must(cudaMemsetAsync(arena, 1, 1024, stream));  // @USE
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
  streamsan_block_freed(arena, STREAMSAN_HOST);
  streamsan_block_allocated(arena, 8192, STREAMSAN_HOST);  // @AGAIN
}
