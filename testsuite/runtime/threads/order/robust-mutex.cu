// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A robust mutex whose owner ended with it: whoever takes it next comes after the owner.
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
#include <semaphore.h>
#include <stdlib.h>

#include "hand_over.h"

struct Shared {
  HandOver over;
  pthread_mutex_t mutex;
  sem_t submitted;
};

void* write(void* argument) {
  auto& shared = *static_cast<Shared*>(argument);
  pthread_mutex_lock(&shared.mutex);
  shared.over.write();
#ifdef FIXED
  shared.over.wait();
  sem_post(&shared.submitted);
#else
  sem_post(&shared.submitted);
  shared.over.wait();
#endif
  return nullptr;  // with the mutex
}

int main() {
  Shared shared;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&shared.mutex, &attributes);
  sem_init(&shared.submitted, 0, 0);
  pthread_t writer;
  pthread_create(&writer, nullptr, write, &shared);
  sem_wait(&shared.submitted);
#ifdef FIXED
  if (pthread_mutex_lock(&shared.mutex) != EOWNERDEAD) abort();
  shared.over.read();
#else
  shared.over.read();
#endif
  pthread_join(writer, nullptr);
}
