// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A byte in a pipe. Files are not followed, so it is as with plain atomics (atomic-wait.cu): the right program has no
// error, and the wrong one is one whose wait nobody had made.
//
// RUN: %build %s -o %t -lpthread
// RUN: %always 5 66 env STREAMSAN_OPTIONS=host_threads=seen %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=seen %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %always 5 0 env STREAMSAN_OPTIONS=host_threads=seen %run %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <stdlib.h>
#include <thread>
#include <unistd.h>

#include "hand_over.h"

int main() {
  const HandOver over;
  int ends[2];
  if (pipe(ends) != 0) abort();
  std::thread reader([&] {
    char byte = 0;
    if (::read(ends[0], &byte, 1) != 1) abort();
    over.read();
  });
  over.write();
#ifdef FIXED
  over.wait();
#endif
  const char byte = 1;
  if (::write(ends[1], &byte, 1) != 1) abort();
  reader.join();
  over.wait();
}
