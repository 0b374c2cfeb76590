// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why host_threads=strict is not the default: a right program, in which one thread tells the other by a plain atomic that the work
// is done, and both have passed by a mutex that has nothing to do with it, as a logger's. By the mutex the reader is after the
// submission, and what the atomic says is not seen: with strict a false error. By default it is possible at most, so it is only
// counted. Its wrong twin does not wait before it says so; nobody knew that the work was done, and that is an error in either
// way.
//
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 possible %run %t.fixed
// RUN: %expect 0 %run %t.fixed 2>&1 | %report --check-prefix=COUNTED
// RUN: env STREAMSAN_OPTIONS=host_threads=joined %silent %t.fixed
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t.fixed 2>&1 | %report
// RUN: env STREAMSAN_OPTIONS=min_severity=possible %run %t.fixed 2>&1 | %report --check-prefix=POSSIBLE
// RUN: %build %s -o %t -lpthread
// RUN: %verdicts 3 error %run %t
// RUN: %always 3 66 %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
//
// CHECK: ERROR: streamsan: read-after-write
//
// COUNTED-NOT: streamsan: read-after-write
// COUNTED: SUMMARY: streamsan: no errors, 1 possible
//
// POSSIBLE: POSSIBLE: streamsan: read-after-write
// POSSIBLE: But a host thread had waited for cudaMemsetAsync{{.*}} by then
#include <atomic>
#include <mutex>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  std::mutex log;
  std::atomic<bool> logged = false, passed = false, done = false;
  std::thread reader([&] {
    while (!logged) std::this_thread::yield();
    { const std::lock_guard lock(log); }
    passed = true;
    while (!done) std::this_thread::yield();
    over.read();
  });
  over.write();
  { const std::lock_guard lock(log); }
  logged = true;
  while (!passed) std::this_thread::yield();
#ifdef FIXED
  over.wait();
#endif
  done = true;
  reader.join();
  over.wait();
}
