// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A flag that is spun on: no call at all. As atomic-wait.cu: what might have been passed on by it is no error.
//
// RUN: %build %s -o %t -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none,possible %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <atomic>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::atomic<bool> ready = false;
  std::thread reader([&] {
    while (!ready) std::this_thread::yield();
    over.read();
  });
  over.write();
#ifdef FIXED
  over.wait();
#endif
  ready = true;
  reader.join();
  over.wait();
}
