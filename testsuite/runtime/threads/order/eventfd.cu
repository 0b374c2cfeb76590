// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A number in an eventfd.
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
#include <sys/eventfd.h>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  const int event = eventfd(0, EFD_CLOEXEC);
  if (event < 0) abort();
  std::thread reader([&] {
    eventfd_t value = 0;
    if (eventfd_read(event, &value) != 0) abort();
    over.read();
  });
  std::thread writer([&] {
    over.write_and([&] {
      if (eventfd_write(event, 1) != 0) abort();
    });
  });
  writer.join();
  reader.join();
}
