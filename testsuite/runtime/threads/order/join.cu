// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread submitted, used behind its join or before it. (exit.cu is a thread that ends by pthread_exit().)
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
  sem_t submitted;
  sem_init(&submitted, 0, 0);
  std::thread writer([&] {
    over.write();
    sem_post(&submitted);
    over.wait();
  });
  sem_wait(&submitted);
#ifdef FIXED
  writer.join();
  over.read();
#else
  over.read();
  writer.join();
#endif
}
