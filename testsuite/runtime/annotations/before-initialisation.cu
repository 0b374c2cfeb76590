// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An annotation before CUDA is initialised does not count. That is no fault of the program, and said only if asked.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %filecheck %s --check-prefix=ALONE
// RUN: %streamsan run -v 1 -- %t 2>&1 | %filecheck %s
//
// ALONE-NOT: {{.}}
// ALONE: {{^}}streamsan: WARNING: nothing was checked{{.*$}}
// ALONE-NOT: {{.}}
//
// CHECK: 3 annotations came before CUDA was initialised and do not count
#include <streamsan/annotate.h>

#include "must.h"

static char memory[4096];

int main() {
  streamsan_block_allocated(memory, sizeof memory, STREAMSAN_HOST);
  streamsan_name_memory(memory, "early");
  streamsan_happens_before(memory, STREAMSAN_HOST);
  must(cudaFree(nullptr));
  streamsan_block_freed(memory, STREAMSAN_HOST);
}
