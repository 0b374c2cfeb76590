// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports use the names that the program gives; a name ends with what it names.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by cudaMemsetAsync on stream "compute" (blocking)
// CHECK: main{{.*}}[[SECOND]]
// CHECK: Previous write by cudaMemsetAsync on stream "copies" (blocking)
// CHECK: main{{.*}}[[FIRST]]
// CHECK: Buffer "weights" 0x{{[0-9a-f]+}} [4096 bytes] allocated by the pool
// CHECK-NOT: first life
// CHECK-NOT: first stream
#include <streamsan/annotate.h>

#include "must.h"

int main() {
  char* arena;
  must(cudaMalloc(&arena, 65536));
  cudaStream_t destroyed, s1, s2;
  must(cudaStreamCreate(&destroyed));
  streamsan_name_stream(destroyed, "first stream");
  must(cudaStreamDestroy(destroyed));
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  streamsan_name_stream(s1, "copies");
  streamsan_name_stream(s2, "compute");
  streamsan_block_allocated(arena + 4096, 4096, STREAMSAN_HOST);
  streamsan_name_memory(arena + 4096, "first life");
  streamsan_block_freed(arena + 4096, STREAMSAN_HOST);
  streamsan_block_allocated(arena + 4096, 4096, STREAMSAN_HOST);
  streamsan_name_memory(arena + 4096, "weights");
  must(cudaMemsetAsync(arena + 4096, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(arena + 4096, 1, 4096, s2));  // @SECOND
}
