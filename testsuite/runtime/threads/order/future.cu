// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::async(): the reader looks at a flag that a mutex guards, and waits for the future at last.
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
#include <future>
#include <mutex>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::mutex mutex;
  bool ready = false;
  auto done = std::async(std::launch::async, [&] { over.write_and([&] { const std::lock_guard lock(mutex); ready = true; }); });
  for (bool seen = false; !seen; std::this_thread::yield()) {
    const std::lock_guard lock(mutex);
    seen = ready;
  }
  over.read();
  done.wait();
}
