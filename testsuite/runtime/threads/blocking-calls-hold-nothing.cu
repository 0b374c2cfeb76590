// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that waits inside a driver call must not keep the others from calling. On a GPU it waits for a host function
// that runs until the other thread has made its calls: if a wrapper held a lock, this would hang. On the null driver
// the wait takes three seconds, and the other thread must be done before it is over.
//
// RUN: %build %s -o %t
// RUN: %if gpu %{ %silent %t gate %} %else %{ env STREAMSAN_NULL_LATENCY_US=3000000 %silent %t %}
#include <atomic>
#include <thread>

#include "must.h"

std::atomic<bool> gate{false};

int main(int argc, char**) {
  cudaStream_t blocked, other;
  must(cudaStreamCreateWithFlags(&blocked, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  std::atomic<bool> waiting{false}, returned{false};
  if (argc == 2) {
    must(cudaLaunchHostFunc(
        blocked,
        [](void*) {
          while (!gate) std::this_thread::yield();
        },
        nullptr));
  }
  std::thread waiter([&] {
    waiting = true;
    must(cudaStreamSynchronize(blocked));
    returned = true;
  });
  while (!waiting) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) must(cudaMemsetAsync(buffer, i, 4096, other));
  if (returned) std::_Exit(98);
  gate = true;
  waiter.join();
}
