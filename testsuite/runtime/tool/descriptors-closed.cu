// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program closes all descriptors it does not know, and gets the numbers again for files of its own. The recorder must
// never write into those: it stops with one line, and the files keep their contents.
//
// RUN: %build %s -o %t
// RUN: %run %t %t.mine 2>&1 | %filecheck %s
// RUN: %run %t %t.mine keep 2>&1 | %filecheck %s --check-prefix=KEEP --allow-empty
//
// CHECK: disabled: the program has closed the file of the trace
// KEEP-NOT: disabled
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "must.h"

int main(int argc, char** argv) {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  cudaEvent_t event;
  must(cudaEventCreate(&event));
  if (argc < 3) {
    for (int file = 3; file < 1024; ++file) close(file);
    while (open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) < 300) {
    }
  }
  for (int i = 0; i < 100000; ++i) must(cudaEventRecord(event, stream));  // more than a chunk
  struct stat mine {};
  return argc < 3 && (stat(argv[1], &mine) != 0 || mine.st_size != 0) ? 98 : 0;
}
