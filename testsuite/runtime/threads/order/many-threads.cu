// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// More threads at a time than the clocks have places: the last ones share one. One reader has synchronised before the
// writer did, the other one later, and has handed that on: its own entry must not hide the writer's.
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
#include <vector>

#include "hand_over.h"

int main() {
  constexpr int kPlaces = 64;
  const HandOver over;
  cudaStream_t other;
  must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  std::mutex end, written, elsewhere;
  std::atomic<int> there = 0, step = 0;  // no order that is seen
  const auto wait_for = [&](int wanted) {
    while (step < wanted) std::this_thread::yield();
  };
  end.lock();
  std::vector<std::thread> others;
  for (int i = 0; i < kPlaces; ++i) {
    others.emplace_back([&] {
      must(cudaStreamSynchronize(other));
      { const std::lock_guard lock(elsewhere); }
      ++there;
      const std::lock_guard lock(end);
    });
  }
  while (there < kPlaces) std::this_thread::yield();
  std::thread writer([&] {
    over.write();
    wait_for(2);
#ifdef FIXED
    over.wait();
#endif
    { const std::lock_guard lock(written); }
    step = 3;
  });
  std::thread early([&] {
    must(cudaStreamSynchronize(over.reads));
    step = 1;
    wait_for(4);
    { const std::lock_guard lock(written); }
    over.read();
  });
  std::thread late([&] {
    const auto synchronise = [&] {
      must(cudaStreamSynchronize(other));
      const std::lock_guard lock(elsewhere);
    };
    wait_for(1);
    synchronise();
    synchronise();  // and learns nothing more of those that wait for the end
    step = 2;
    wait_for(3);
    synchronise();
    { const std::lock_guard lock(written); }
    over.read();
    step = 4;
  });
  writer.join();
  early.join();
  late.join();
  over.wait();
  end.unlock();
  for (std::thread& each : others) each.join();
}
