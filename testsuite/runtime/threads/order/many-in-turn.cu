// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A hundred threads, one after another. Each learns something after it has synchronised, and uses that before it hands
// on what it did. They need no more places in the clocks than there are threads at a time, so the two that come behind
// them have places of their own: what one of them passes on in no way that is seen, the other one does not know.
//
// RUN: %build %s -o %t -lpthread
// RUN: %verdicts 3 possible %run %t
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %silent %t.fixed
#include <atomic>
#include <mutex>
#include <thread>

#include "hand_over.h"

int main() {
  const HandOver over;
  cudaStream_t mine, other;
  must(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  std::mutex news, elsewhere, written;
  for (int i = 0; i < 100; ++i) {
    std::atomic<int> step = 0;
    std::thread each([&] {
      must(cudaStreamSynchronize(other));
      step = 1;
      while (step < 2) std::this_thread::yield();
      const std::lock_guard lock(news);
      must(cudaMemsetAsync(over.copy, 0, 4096, over.reads));
    });
    while (step < 1) std::this_thread::yield();
    must(cudaStreamSynchronize(mine));
    { const std::lock_guard lock(news); }
    step = 2;
    each.join();
  }
  std::atomic<bool> ready = false;
  std::thread writer([&] {
    over.write();
    over.wait();
    { const std::lock_guard lock(written); }
    ready = true;
  });
  std::thread reader([&] {
    must(cudaStreamSynchronize(over.reads));
    { const std::lock_guard lock(elsewhere); }
    while (!ready) std::this_thread::yield();
#ifdef FIXED
    { const std::lock_guard lock(written); }
#endif
    over.read();
  });
  writer.join();
  reader.join();
}
