// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pthread_exit() ends the writer, and the one that joins it reads.
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
#include <semaphore.h>

#include "hand_over.h"

sem_t submitted;

void* write(void* argument) {
  const auto& over = *static_cast<const HandOver*>(argument);
  over.write();
  sem_post(&submitted);
  over.wait();
  pthread_exit(nullptr);
}

int main() {
  HandOver over;
  sem_init(&submitted, 0, 0);
  pthread_t writer;
  pthread_create(&writer, nullptr, write, &over);
  sem_wait(&submitted);
#ifdef FIXED
  pthread_join(writer, nullptr);
  over.read();
#else
  over.read();
  pthread_join(writer, nullptr);
#endif
}
