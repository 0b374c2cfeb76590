// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mutex that checks for errors: a lock that fails because the thread has it already orders nothing and breaks nothing.
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
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  bool ready = false;
  std::thread reader([&] {
    for (bool seen = false; !seen; std::this_thread::yield()) {
      pthread_mutex_lock(&mutex);
      if (pthread_mutex_lock(&mutex) != EDEADLK) abort();
      seen = ready;
      pthread_mutex_unlock(&mutex);
    }
    over.read();
  });
  std::thread writer([&] {
    over.write_and([&] {
      pthread_mutex_lock(&mutex);
      ready = true;
      pthread_mutex_unlock(&mutex);
    });
  });
  writer.join();
  reader.join();
}
