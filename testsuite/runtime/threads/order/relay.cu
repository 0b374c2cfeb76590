// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By way of a thread that makes no call of CUDA's.
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
  sem_t first, second;
  sem_init(&first, 0, 0);
  sem_init(&second, 0, 0);
  std::thread middle([&] {
    sem_wait(&first);
    sem_post(&second);
  });
  std::thread reader([&] {
    sem_wait(&second);
    middle.join();
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { sem_post(&first); }); });
  writer.join();
  reader.join();
}
