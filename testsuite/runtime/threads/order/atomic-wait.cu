// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++20: std::atomic::wait() and notify_one(). Where nobody has to wait they make no call, so their order is not seen, and
// the recorder knows that it is not. The right program has no error: a conflict with work that its thread had waited for is
// only possible. The wrong one waits when the reader is done: nobody could have passed on what nobody knew.
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
#include <atomic>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::atomic<int> ready = 0;
  std::thread reader([&] {
    ready.wait(0);
    over.read();
  });
  over.write();
#ifdef FIXED
  over.wait();
#endif
  ready = 1;
  ready.notify_one();
  reader.join();
  over.wait();
}
