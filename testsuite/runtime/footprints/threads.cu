// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many threads launch at once, each on its own part of one buffer. One launch is measured at a time; those of the others
// wait, and some stay unmeasured: their bytes are inferred. None of them is given the bytes of another, so there is no error, and one
// where parts overlap.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t 2>&1 \
// RUN:   | %filecheck %s --implicit-check-not=ERROR --implicit-check-not=LATENT
// RUN: %measured WIDER-SCRIPT %racy %t 2>&1 | %filecheck %s --check-prefix=WIDER
// REQUIRES: nulldriver
//
// SCRIPT: fill write #0 64
// WIDER-SCRIPT: fill write #0 65
//
// CHECK: footprints of kernels measured: {{[1-9][0-9]*}} launch
// WIDER: ERROR: streamsan: write-after-write{{.*}}[1 byte overlap]
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "must.h"

constexpr int kThreads = 8;

template <int kPart>
__global__ void fill(float*, int) {}

std::mutex g_turn;
std::atomic<int> g_ready{0};

/// The first launches come one after the other, so that each is measured; then all threads launch at will.
template <int kPart>
void launch_many(float* buffer) {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    std::lock_guard<std::mutex> lock(g_turn);
    fill<kPart><<<1, 16, 0, stream>>>(buffer + kPart * 16, 1000);
    must(cudaGetLastError());
  }
  ++g_ready;
  while (g_ready < kThreads) std::this_thread::yield();
  for (int n = 0; n < 200; ++n) {
    fill<kPart><<<1, 16, 0, stream>>>(buffer + kPart * 16, n % 20);
    must(cudaGetLastError());
  }
}

template <int... kParts>
void start(std::vector<std::thread>& threads, float* buffer, std::integer_sequence<int, kParts...>) {
  (threads.emplace_back(launch_many<kParts>, buffer), ...);
}

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, kThreads * 64));
  std::vector<std::thread> threads;
  start(threads, buffer, std::make_integer_sequence<int, kThreads>());
  for (std::thread& thread : threads) thread.join();
}
