// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Correct code with 32 threads, each with a stream and pinned buffers of its own: fill, upload, download, wait, look.
// Half of the threads block all signals, as worker threads of servers do.
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <vector>

#include "stage.h"

namespace {

constexpr int kThreads = 32;
constexpr int kRounds = 20;
constexpr int kWords = 64 << 10;

void work(int number, std::atomic<int>* right) {
  if (number % 2 == 0) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
  }
  cudaStream_t stream = non_blocking_stream();
  cudaEvent_t done = new_event();
  int* source = pinned_memory<int>(kWords);
  int* target = pinned_memory<int>(kWords);
  int* data = device_memory<int>(kWords);
  for (int round = 0; round < kRounds; ++round) {
    const int value = number * 1000 + round;
    for (int i = 0; i < kWords; ++i) source[i] = value;
    CHECK(cudaMemcpyAsync(data, source, kWords * sizeof(int), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(target, data, kWords * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(done, stream));
    CHECK(cudaEventSynchronize(done));
    bool all = true;
    for (int i = 0; i < kWords; ++i) all = all && target[i] == value;
    *right += all;
  }
}

}  // namespace

int main() {
  CHECK(cudaFree(nullptr));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i, &right);
  for (std::thread& thread : threads) thread.join();
  std::printf("%d of %d rounds are right\n", right.load(), kThreads * kRounds);
  return right == kThreads * kRounds ? 0 : 3;
}
