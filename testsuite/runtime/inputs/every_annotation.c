// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls every function of the header, as C or as C++. Succeeds if no trace of the look-up is left.
#include <streamsan/annotate.h>

#ifndef STREAMSAN_NO_ANNOTATIONS
#include <dlfcn.h>
#endif

int main(void) {
  char block[16] = "";
  void* no_stream = (void*)block;
  no_stream = STREAMSAN_HOST;
  streamsan_block_allocated(block, sizeof block, no_stream);
  streamsan_block_used(block, STREAMSAN_HOST);
  streamsan_block_freed(block, STREAMSAN_SAME_STREAM);
  streamsan_name_memory(block, "block");
  streamsan_name_stream(STREAMSAN_HOST, "stream");
  streamsan_happens_before(block, STREAMSAN_HOST);
  streamsan_happens_after(block, STREAMSAN_HOST);
#ifndef STREAMSAN_NO_ANNOTATIONS
  if (dlerror()) return 1;
#endif
  return 0;
}
