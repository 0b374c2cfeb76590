// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader knows of a thread that has ended, and that has synchronised later than the writer. When the writer gets
// to know of it, too, it must not enter its own earlier record in that thread's place: the reader would miss it there.
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
  cudaStream_t other;
  must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  std::mutex news, written, elsewhere;
  std::atomic<int> step = 0;  // no order that is seen
  const auto wait_for = [&](int wanted) {
    while (step < wanted) std::this_thread::yield();
  };
  std::thread writer([&] {
    over.write();
#ifdef FIXED
    over.wait();
#endif
    step = 1;
    wait_for(4);
    { const std::lock_guard lock(news); }
    { const std::lock_guard lock(written); }
    step = 5;
  });
  std::thread ends([&] {
    wait_for(1);
    must(cudaStreamSynchronize(other));
    const std::lock_guard lock(news);
  });
  std::thread reader([&] {
    wait_for(3);
    { const std::lock_guard lock(news); }
    step = 4;
    wait_for(5);
    { const std::lock_guard lock(written); }
    over.read();
  });
  // Of the places in the clocks the last one is not given again, so there is one behind that of the thread that ends.
  std::thread bystander([&] {
    wait_for(2);
    must(cudaStreamSynchronize(cudaStreamPerThread));
    { const std::lock_guard lock(elsewhere); }
    step = 3;
  });
  ends.join();
  step = 2;
  writer.join();
  reader.join();
  bystander.join();
  over.wait();
}
