/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <dlfcn.h>
#include <stdlib.h>
#include <streamsan/annotate.h>

/* pool N: is the recorder there (1) or not (0), as expected? */
int main(int count, char** arguments) {
  char memory[64];
  streamsan_block_allocated(memory, sizeof memory, NULL);
  streamsan_block_freed(memory, NULL);
  const int is_there = dlsym(RTLD_DEFAULT, "streamsan_annotations") != NULL;
  return count == 2 && atoi(arguments[1]) == is_there ? 0 : 1;
}
