// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mutex after a hundred thousand others: the table of them is full, and it shares a place with some.
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
#include <mutex>
#include <thread>
#include <vector>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::thread([] {}).join();  // from the first thread on order is followed
  over.wait();                // something to hand on
  std::vector<std::mutex> others(100'000);
  for (std::mutex& each : others) {
    const std::lock_guard lock(each);
  }
  std::mutex mutex;
  bool ready = false;
  std::thread reader([&] {
    for (bool seen = false; !seen; std::this_thread::yield()) {
      const std::lock_guard lock(mutex);
      seen = ready;
    }
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { const std::lock_guard lock(mutex); ready = true; }); });
  writer.join();
  reader.join();
}
