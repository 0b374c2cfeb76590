// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message through a pair of sockets, as the event loops of frameworks wake each other.
//
// RUN: %build %s -o %t -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <stdlib.h>
#include <sys/socket.h>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  std::thread reader([&] {
    char byte = 0;
    if (recv(ends[0], &byte, 1, 0) != 1) abort();
    over.read();
  });
  std::thread writer([&] {
    over.write_and([&] {
      const char byte = 1;
      if (send(ends[1], &byte, 1, 0) != 1) abort();
    });
  });
  writer.join();
  reader.join();
}
