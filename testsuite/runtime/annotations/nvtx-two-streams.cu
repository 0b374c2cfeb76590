// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region is for no stream in particular: two streams may use its parts from the beginning, and it may be unregistered
// while both still run.
//
// RUN: %build %s -o %t -ldl
// RUN: %silent %t
//
// Within one life the bytes must not meet, as ever.
// RUN: %build -DOVERLAP=1 %s -o %t.overlap -ldl
// RUN: %racy %t.overlap 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include "must.h"
#include "nvtx_pool.h"

#ifndef OVERLAP
#define OVERLAP 0
#endif

int main() {
  char* arena;
  must(cudaMalloc(&arena, 65536));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  const nvtxMemHeapHandle_t heap = register_heap(arena, 65536, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, nullptr);
  register_region(heap, arena, 4096);
  must(cudaMemsetAsync(arena, 0, 2048 + OVERLAP, s1));  // @FIRST
  must(cudaMemsetAsync(arena + 2048, 0, 2048, s2));     // @SECOND
  unregister_region(arena);
}
