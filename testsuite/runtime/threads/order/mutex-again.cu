// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutexes that hand over many times. In each round what the other thread has learned before is not enough.
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

#include "hand_over.h"

constexpr int kRounds = 40;  // more than the names of clocks that a thread remembers

/// Set by one thread, and waited for by the other.
class Turn {
 public:
  void set(int to) {
    const std::lock_guard lock(mutex_);
    turn_ = to;
  }
  void wait_for(int wanted) {
    for (bool seen = false; !seen; std::this_thread::yield()) {
      const std::lock_guard lock(mutex_);
      seen = turn_ == wanted;
    }
  }

 private:
  std::mutex mutex_;
  int turn_ = 0;
};

int main() {
  const HandOver over;
  Turn written, read;
  std::thread reader([&] {
    for (int i = 1; i <= kRounds; ++i) {
      written.wait_for(i);
      over.read();
      must(cudaStreamSynchronize(over.reads));
      read.set(i);
    }
  });
  std::thread writer([&] {
    for (int i = 1; i <= kRounds; ++i) {
      over.write_and([&] { written.set(i); });
      read.wait_for(i);
    }
  });
  writer.join();
  reader.join();
}
