// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The writer has ended when the reader takes the mutex that it had. The reader has synchronised before that, and hands
// it on only now: in the clocks its own earlier record must not take the place of what it has just learned.
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
  std::mutex submitted, written, elsewhere;
  std::atomic<int> step = 0;  // no order that is seen
  const auto wait_for = [&](int wanted) {
    while (step < wanted) std::this_thread::yield();
  };
  std::thread writer([&] {
    over.write();
    { const std::lock_guard lock(submitted); }
    step = 1;
    wait_for(2);
#ifdef FIXED
    over.wait();
#endif
    const std::lock_guard lock(written);
  });
  std::thread reader([&] {
    wait_for(1);
    { const std::lock_guard lock(submitted); }
    must(cudaStreamSynchronize(over.reads));
    step = 2;
    wait_for(4);
    { const std::lock_guard lock(written); }
    over.read();
  });
  // Of the places in the clocks the last one is not given again, so there is one behind the writer's.
  std::thread bystander([&] {
    wait_for(3);
    must(cudaStreamSynchronize(cudaStreamPerThread));
    { const std::lock_guard lock(elsewhere); }
    step = 4;
  });
  writer.join();
  step = 3;
  reader.join();
  bystander.join();
  over.wait();
}
