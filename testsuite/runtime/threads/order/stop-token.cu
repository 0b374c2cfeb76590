// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++20: a std::jthread that waits for something or for its end, with a std::condition_variable_any.
//
// RUN: %build -std=c++20 %s -o %t -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -std=c++20 -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::mutex mutex;
  std::condition_variable_any condition;
  bool ready = false;
  std::jthread reader([&](const std::stop_token& stop) {
    {
      std::unique_lock lock(mutex);
      if (!condition.wait(lock, stop, [&] { return ready; })) return;
    }
    over.read();
  });
  over.write_and([&] {
    {
      const std::lock_guard lock(mutex);
      ready = true;
    }
    condition.notify_all();
  });
  reader.join();
}
