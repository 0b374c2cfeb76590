// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As ended-writer.cu, but the thread that has synchronised before is one in the middle. It uses what it has learned of
// the writer before it hands on anything, and the reader learns of the writer from it alone.
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
  char* second;
  must(cudaMalloc(&second, 4096));
  std::mutex written, passed_on, elsewhere;
  std::atomic<int> step = 0;  // no order that is seen
  const auto wait_for = [&](int wanted) {
    while (step < wanted) std::this_thread::yield();
  };
  std::thread writer([&] {
    over.write();
    wait_for(1);
#ifdef FIXED
    over.wait();
#endif
    const std::lock_guard lock(written);
  });
  std::thread middle([&] {
    must(cudaStreamSynchronize(other));
    step = 1;
    wait_for(3);
    {
      const std::lock_guard lock(written);
      must(cudaMemcpyAsync(second, over.buffer, 4096, cudaMemcpyDeviceToDevice, other));
    }
    { const std::lock_guard lock(passed_on); }
    step = 4;
  });
  std::thread reader([&] {
    wait_for(4);
    { const std::lock_guard lock(passed_on); }
    over.read();
  });
  // Of the places in the clocks the last one is not given again, so there is one behind the writer's.
  std::thread bystander([&] {
    wait_for(2);
    must(cudaStreamSynchronize(cudaStreamPerThread));
    { const std::lock_guard lock(elsewhere); }
    step = 3;
  });
  writer.join();
  step = 2;
  middle.join();
  reader.join();
  bystander.join();
  over.wait();
}
