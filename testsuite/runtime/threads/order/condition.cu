// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A condition variable.
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
#include <condition_variable>
#include <mutex>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  std::thread reader([&] {
    {
      std::unique_lock lock(mutex);
      condition.wait(lock, [&] { return ready; });
    }
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { { const std::lock_guard lock(mutex); ready = true; } condition.notify_one(); }); });
  writer.join();
  reader.join();
}
