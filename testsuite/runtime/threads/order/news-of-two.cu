// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that learns all that another one does, again and again, and then something of a third one. Before that it
// has news of its own to hand on, once the third one's are there: that by itself tells it nothing.
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

/// Counts up, and is waited for.
class Count {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void wait_for(int wanted) {
    for (bool seen = false; !seen; std::this_thread::yield()) {
      const std::lock_guard lock(mutex_);
      seen = count_ >= wanted;
    }
  }

 private:
  std::mutex mutex_;
  int count_ = 0;
};

int main() {
  const HandOver over;
  cudaStream_t others;
  must(cudaStreamCreateWithFlags(&others, cudaStreamNonBlocking));
  constexpr int kRounds = 8;
  Count news, heard, written;
  std::atomic<bool> there{false};
  std::thread other([&] {
    for (int i = 1; i <= kRounds; ++i) {
      must(cudaStreamSynchronize(others));
      news.add();
      heard.wait_for(i);
    }
  });
  std::thread reader([&] {
    for (int i = 1; i <= kRounds; ++i) {
      news.wait_for(i);
      heard.add();
    }
    while (!there) std::this_thread::yield();  // no order that is seen
    must(cudaStreamSynchronize(over.reads));
    heard.add();
    written.wait_for(1);
    over.read();
  });
  std::thread writer([&] {
    heard.wait_for(kRounds / 2);
    over.write_and([&] {
      written.add();
      there = true;
    });
  });
  other.join();
  reader.join();
  writer.join();
}
