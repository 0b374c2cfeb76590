// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NULL means the default stream of the file it is compiled in, as for CUDA's own functions.
//
// RUN: %build_ptds %s -o %t
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace %t
// RUN: %trace_records %t.trace BlockAlloc | %filecheck %s
//
// CHECK: BlockAlloc flags=0 stack {{0x[0-9a-f]+}} 0x100 0x2 {{0x[0-9a-f]+$}}
#include <streamsan/annotate.h>

#include "must.h"

int main() {
  char* block;
  must(cudaMalloc(&block, 4096));
  streamsan_block_allocated(block, 256, nullptr);
}
