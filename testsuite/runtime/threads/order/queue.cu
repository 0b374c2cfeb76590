// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A queue of work between two threads.
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
#include <deque>
#include <mutex>
#include <thread>

#include "hand_over.h"

class Queue {
 public:
  void push(int item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(item);
    }
    condition_.notify_one();
  }
  int pop() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [&] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<int> items_;
};

int main() {
  const HandOver over;
  Queue queue;
  std::thread reader([&] {
    queue.pop();
    over.read();
  });
  over.write_and([&] { queue.push(1); });
  reader.join();
}
