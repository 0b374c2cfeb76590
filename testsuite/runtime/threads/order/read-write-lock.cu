// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The writer holds a lock to write, the reader to read.
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
#include <shared_mutex>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::shared_mutex mutex;
  bool ready = false;
  std::thread reader([&] {
    for (bool seen = false; !seen; std::this_thread::yield()) {
      const std::shared_lock lock(mutex);
      seen = ready;
    }
    over.read();
  });
  std::thread writer([&] { over.write_and([&] { const std::unique_lock lock(mutex); ready = true; }); });
  writer.join();
  reader.join();
}
