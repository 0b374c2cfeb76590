// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A POSIX semaphore that is tried again and again.
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
#include <semaphore.h>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  sem_t ready;
  sem_init(&ready, 0, 0);
  std::thread reader([&] {
    while (sem_trywait(&ready) != 0) std::this_thread::yield();
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { sem_post(&ready); }); });
  writer.join();
  reader.join();
}
