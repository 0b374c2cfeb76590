// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first that comes writes; the other one waits until that is over. The reader comes second: it looks at a plain
// atomic, which is no order that is seen.
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
#include <atomic>
#include <mutex>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::once_flag flag;
  std::atomic<bool> begun = false;
  const auto prepare = [&] {
    std::call_once(flag, [&] {
      begun = true;
      over.write();
#ifdef FIXED
      over.wait();
#endif
    });
  };
  std::thread writer([&] {
    prepare();
#ifndef FIXED
    over.wait();
#endif
  });
  std::thread reader([&] {
    while (!begun) std::this_thread::yield();
    prepare();
    over.read();
  });
  writer.join();
  reader.join();
}
