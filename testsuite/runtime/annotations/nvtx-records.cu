// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What NVTX says of a pool: regions of a sub-allocating heap begin and end, without a stream (flags 2: none was stated);
// regions of other heaps are only named. A heap that is reset or goes away ends its regions.
//
// RUN: %build %s -o %t -ldl
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload NVTX_INJECTION64_PATH=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t > %t.values
// RUN: %trace_records %t.trace BlockAlloc BlockFree NameMemory NameStream >> %t.values
// RUN: %filecheck %s --input-file %t.values
//
// Under `streamsan run` nothing has to be set.
// RUN: %run %t | %filecheck %s --check-prefix=ATTACHED
// ATTACHED: attached
//
// Without us NVTX does nothing.
// RUN: %t | %filecheck %s --check-prefix=ALONE
// ALONE-NOT: attached
//
// CHECK: STREAM [[STREAM:0x[0-9a-f]+]] BLOCKS [[A:0x[0-9a-f]+]] [[B:0x[0-9a-f]+]] [[C:0x[0-9a-f]+]] [[D:0x[0-9a-f]+]]
// CHECK-NEXT: attached
// CHECK-NEXT: NameMemory flags=0 no-stack [[A]] 0x4 0x0 0x0 'heap'
// CHECK-NEXT: BlockAlloc flags=2 stack [[A]] 0x100 0x0 0x0
// CHECK-NEXT: BlockAlloc flags=2 stack [[B]] 0x100 0x0 0x0
// CHECK-NEXT: BlockAlloc flags=2 stack [[C]] 0x100 0x0 0x0
// CHECK-NEXT: NameMemory flags=0 no-stack [[B]] 0x8 0x0 0x0 'weights '
// CHECK-NEXT: NameMemory flags=0 no-stack [[C]] 0x4 0x0 0x0 '{{.+}}'
// CHECK-NEXT: NameMemory flags=0 no-stack [[D]] 0x4 0x0 0x0 'part'
//
// Unregistered, resized, reset, registered again, and the heap goes.
// CHECK-NEXT: BlockFree flags=2 stack [[A]] 0x0 0x0 0x0
// CHECK-NEXT: BlockFree flags=2 stack [[C]] 0x0 0x0 0x0
// CHECK-NEXT: BlockAlloc flags=2 stack [[C]] 0x200 0x0 0x0
// CHECK-DAG: BlockFree flags=2 stack [[B]] 0x0 0x0 0x0
// CHECK-DAG: BlockFree flags=2 stack [[C]] 0x0 0x0 0x0
// CHECK: BlockAlloc flags=2 stack [[A]] 0x100 0x0 0x0
// CHECK-NEXT: BlockFree flags=2 stack [[A]] 0x0 0x0 0x0
// CHECK-NEXT: NameStream flags=0 no-stack [[STREAM]] 0x6 0x0 0x0 'copies'
// CHECK-NEXT: NameStream flags=0 no-stack [[STREAM]] 0x4 0x0 0x0 'wide'
// CHECK-NOT: {{.}}
#include <cstdio>

#include "must.h"
#include "nvtx_pool.h"

int main() {
  char* arena;
  must(cudaMalloc(&arena, 4096));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  char* const a = arena;
  char* const b = arena + 256;
  char* const c = arena + 1024;
  char* const d = arena + 3072;
  std::printf("STREAM %p BLOCKS %p %p %p %p\n", static_cast<void*>(stream), a, b, c, d);

  const nvtxMemHeapHandle_t heap = register_heap(arena, 2048, NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, "heap");
  if (heap) std::printf("attached\n");
  register_region(heap, a, 256);
  nvtxMemVirtualRangeDesc_t two[] = {{256, b}, {256, c}};
  nvtxMemRegionHandle_t handles[2] = {};
  register_regions(heap, two, 2, handles);
  name_region(b, "weights ");
  name_region(c, L"\u00df\u00e4");  // two bytes of UTF-8 each

  // No blocks: a layout, and the whole process.
  const nvtxMemHeapHandle_t layout = register_heap(arena + 2048, 2048, NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT, nullptr);
  register_region(layout, d, 256);
  name_region(d, "part");
  unregister_region(d);
  register_region(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, d, 256);

  unregister_region(a);
  unregister_region(a);  // it is none any more
  resize_region(c, 512);
  nvtxMemHeapReset(nullptr, heap);
  register_region(heap, a, 256);
  nvtxMemHeapUnregister(nullptr, heap);
  register_region(heap, b, 256);  // there is no such heap
  nvtxNameCudaStreamA(stream, "copies");
  nvtxNameCudaStreamW(stream, L"wide");
}
