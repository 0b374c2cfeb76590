// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What recording costs where many threads launch at once: 16 host threads, each with a stream and a buffer of its own,
// launch a kernel that does next to nothing, and wait for their stream every 64 launches. Nothing is shared but the
// device and the driver's locks, and our trace: each record takes its place in it by one addition to a word that all
// threads write.
//
// usage: stress [THREADS [BLOCKS [LAUNCHES]]]
// prints {"ms": ...}: the median block, for all launches of all threads
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define MUST(call)                                                          \
  if ((call) != cudaSuccess) {                                              \
    std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #call); \
    std::exit(2);                                                           \
  }

namespace {

constexpr int kBetweenWaits = 64;

__global__ void touch(int* buffer) { buffer[threadIdx.x] += 1; }

void launch(int count, int* buffer, cudaStream_t stream) {
  for (int i = 1; i <= count; ++i) {
    touch<<<1, 32, 0, stream>>>(buffer);
    if (i % kBetweenWaits == 0) MUST(cudaStreamSynchronize(stream));
  }
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaGetLastError());
}

}  // namespace

int main(int argc, char** argv) {
  const int number = argc > 1 ? std::max(1, std::atoi(argv[1])) : 16;
  const int blocks = argc > 2 ? std::max(1, std::atoi(argv[2])) : 15;
  const int count = argc > 3 ? std::max(1, std::atoi(argv[3])) : 4096;
  std::vector<double> times(blocks);
  std::barrier together(number);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < number; ++thread) {
    threads.emplace_back([&, thread] {
      int* buffer = nullptr;
      cudaStream_t stream = nullptr;
      MUST(cudaMalloc(&buffer, 32 * sizeof *buffer));
      MUST(cudaMemset(buffer, 0, 32 * sizeof *buffer));
      MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      MUST(cudaDeviceSynchronize());
      launch(count, buffer, stream);
      for (int block = 0; block < blocks; ++block) {
        together.arrive_and_wait();
        const auto start = std::chrono::steady_clock::now();
        launch(count, buffer, stream);
        together.arrive_and_wait();
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
        if (thread == 0) times[block] = taken.count();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("{\"ms\": %.6f}\n", times[times.size() / 2]);
}
