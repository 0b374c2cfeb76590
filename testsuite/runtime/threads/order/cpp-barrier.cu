// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++20: a std::barrier, which is an atomic that is waited for (atomic-wait.cu).
//
// RUN: %build -std=c++20 %s -o %t -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -std=c++20 -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none,possible %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <barrier>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::barrier ready(2);
  std::thread reader([&] {
    ready.arrive_and_wait();
    over.read();
  });
  over.write();
#ifdef FIXED
  over.wait();
#endif
  ready.arrive_and_wait();
  reader.join();
  over.wait();
}
