// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier.
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
#include <pthread.h>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);
  std::thread reader([&] {
    pthread_barrier_wait(&barrier);
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { pthread_barrier_wait(&barrier); }); });
  writer.join();
  reader.join();
}
