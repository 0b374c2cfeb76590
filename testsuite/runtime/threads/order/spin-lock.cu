// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spin lock of libc's.
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
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, 0);
  bool ready = false;
  std::thread reader([&] {
    for (bool seen = false; !seen; std::this_thread::yield()) {
      pthread_spin_lock(&lock);
      seen = ready;
      pthread_spin_unlock(&lock);
    }
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { pthread_spin_lock(&lock); ready = true; pthread_spin_unlock(&lock); }); });
  writer.join();
  reader.join();
}
