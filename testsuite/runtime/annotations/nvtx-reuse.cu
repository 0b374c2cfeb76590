// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool that describes its blocks to NVTX is checked without another word. NVTX tells no stream, so the reuse is found at
// the first use that meets what an earlier life may still be doing.
//
// RUN: %build %s -o %t -ldl
// RUN: %racy %t 2>&1 | %report
//
// A region that is registered again for the same stream while its last work has yet to run is correct, and so is one that
// an event has made free; also where the new region is cut otherwise.
// RUN: %build -DSAME_STREAM %s -o %t.same -ldl
// RUN: %silent %t.same
// RUN: %build -DJOINED %s -o %t.joined -ldl
// RUN: %silent %t.joined
// RUN: %build -DSAME_STREAM -DCUT=1024 %s -o %t.cut -ldl
// RUN: %silent %t.cut
// RUN: %build -DCUT=1024 %s -o %t.racycut -ldl
// RUN: %racy %t.racycut 2>&1 | %report
//
// CHECK: ERROR: streamsan: reuse-while-in-use {{.*}}device memory
// CHECK: cudaMemsetAsync on stream 2
// CHECK: main{{.*}}[[SECOND]]
// CHECK: cudaMemsetAsync on stream 1
// CHECK: main{{.*}}[[FIRST]]
// CHECK: Buffer "activations" {{.*}}[4096 bytes] allocated by the pool
// CHECK: main{{.*}}[[REGION]]
#include "must.h"
#include "nvtx_pool.h"

#ifndef CUT
#define CUT 4096
#endif

int main() {
  char* arena;
  must(cudaMalloc(&arena, 65536));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  const nvtxMemHeapHandle_t heap = register_heap(arena, 65536, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, nullptr);
  register_region(heap, arena + 4096, 4096);  // @REGION
  name_region(arena + 4096, "activations");
  must(cudaMemsetAsync(arena + 4096, 0, 4096, s1));  // @FIRST
  unregister_region(arena + 4096);
#ifdef JOINED
  cudaEvent_t used;
  must(cudaEventCreate(&used));
  must(cudaEventRecord(used, s1));
  must(cudaStreamWaitEvent(s2, used));
#endif
  register_region(heap, arena + 4096, CUT);
#ifdef SAME_STREAM
  must(cudaMemsetAsync(arena + 4096, 1, CUT, s1));
#else
  must(cudaMemsetAsync(arena + 4096, 1, CUT, s2));  // @SECOND
#endif
  unregister_region(arena + 4096);
}
