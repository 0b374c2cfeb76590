// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every annotation stands in the trace, in order, with its stream and its call stack; what has no meaning does not.
//
// RUN: %build %s -o %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t > %t.values
// RUN: %trace_records %t.trace BlockAlloc BlockFree BlockUse Signal Await NameMemory NameStream >> %t.values
// RUN: %filecheck %s --input-file %t.values
//
// CHECK: BLOCK [[BLOCK:0x[0-9a-f]+]] STREAM [[STREAM:0x[0-9a-f]+]] OBJECT [[OBJECT:0x[0-9a-f]+]]
//
// In a stream; in the legacy default stream, which NULL is here (16: the program passed none); by the host.
// CHECK-NEXT: BlockAlloc flags=0 stack [[BLOCK]] 0x100 [[STREAM]] 0x0
// CHECK-NEXT: BlockUse flags=16 stack [[BLOCK]] 0x0 0x1 {{0x[0-9a-f]+$}}
// CHECK-NEXT: BlockUse flags=0 stack [[BLOCK]] 0x0 0x2 {{0x[0-9a-f]+$}}
// CHECK-NEXT: BlockFree flags=2 stack [[BLOCK]] 0x0 0x0 0x0
// CHECK-NEXT: BlockAlloc flags=1 stack [[BLOCK]] 0x100 0x0 0x0
// CHECK-NEXT: BlockFree flags=1 stack [[BLOCK]] 0x0 0x0 0x0
//
// CHECK-NEXT: Signal flags=0 stack [[STREAM]] 0x0 [[OBJECT]] 0x0
// CHECK-NEXT: Signal flags=1 stack 0x0 0x0 [[OBJECT]] 0x0
// CHECK-NEXT: Await flags=16 stack 0x1 {{0x[0-9a-f]+}} [[OBJECT]] 0x0
// CHECK-NEXT: Await flags=1 stack 0x0 0x0 [[OBJECT]] 0x0
//
// CHECK-NEXT: NameMemory flags=0 no-stack [[BLOCK]] 0x7 0x0 0x0 'weights'
// CHECK-NEXT: NameStream flags=0 no-stack [[STREAM]] 0x6 0x0 0x0 'copies'
// CHECK-NEXT: NameStream flags=0 no-stack 0x1 0xff 0x0 0x0 '{{x+}}'
// CHECK-NOT: {{.}}
#include <streamsan/annotate.h>

#include <cstdio>
#include <string>

#include "must.h"

int main() {
  char* block;
  must(cudaMalloc(&block, 4096));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  int object = 0;
  std::printf("BLOCK %p STREAM %p OBJECT %p\n", static_cast<void*>(block), static_cast<void*>(stream),
              static_cast<void*>(&object));

  streamsan_block_allocated(block, 256, stream);
  streamsan_block_used(block, nullptr);
  streamsan_block_used(block, cudaStreamPerThread);
  streamsan_block_freed(block, STREAMSAN_SAME_STREAM);
  streamsan_block_allocated(block, 256, STREAMSAN_HOST);
  streamsan_block_freed(block, STREAMSAN_HOST);

  streamsan_happens_before(&object, stream);
  streamsan_happens_before(&object, STREAMSAN_HOST);
  streamsan_happens_after(&object, nullptr);
  streamsan_happens_after(&object, STREAMSAN_HOST);

  streamsan_name_memory(block, "weights");
  streamsan_name_stream(stream, "copies");
  streamsan_name_stream(nullptr, std::string(300, 'x').c_str());

  // Nothing to say.
  streamsan_block_allocated(nullptr, 256, stream);
  streamsan_block_allocated(block, 0, stream);
  streamsan_block_freed(nullptr, stream);
  streamsan_block_used(block, STREAMSAN_HOST);
  streamsan_block_used(block, STREAMSAN_SAME_STREAM);
  streamsan_happens_before(&object, STREAMSAN_SAME_STREAM);
  streamsan_name_memory(block, "");
  streamsan_name_memory(block, nullptr);
  streamsan_name_stream(STREAMSAN_HOST, "host");
}
