// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A std::promise whose value lets the other thread go on. It waits as C++20's atomics do (atomic-wait.cu): its order is
// not seen.
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
#include <future>
#include <thread>
#include <utility>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::promise<int> ready;
  std::thread reader([&over, future = ready.get_future()]() mutable {
    future.get();
    over.read();
  });
  over.write();
#ifdef FIXED
  over.wait();
#endif
  ready.set_value(1);
  reader.join();
  over.wait();
}
