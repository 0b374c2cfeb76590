// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result of a std::packaged_task is there before what the task submitted is done. Its order is not seen (promise.cu).
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

#include "hand_over.h"

int main() {
  const HandOver over;
  std::packaged_task<void()> task([&] {
    over.write();
#ifdef FIXED
    over.wait();
#endif
  });
  std::future<void> done = task.get_future();
  std::thread writer([&] { task(); });
  done.get();
  over.read();
  writer.join();
  over.wait();
}
