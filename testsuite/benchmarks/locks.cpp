// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it costs that the order between host threads is followed, in a program that locks a lot and is right: 16
// threads count words in a table whose 64 parts each have a mutex, as servers count requests. Each turn takes one
// mutex for some hundred nanoseconds and then works on its own for about as long; every 256th submits a fill to the
// thread's own stream, every 4,096th waits for that. So most locks carry no news of CUDA's, and some do: that is the
// usual mix.
//
// usage: locks [BLOCKS [TURNS]]
// prints {"ms": ...}: the median block, for all turns of all threads
#include <cuda.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#define MUST(call)                                                          \
  if ((call) != CUDA_SUCCESS) {                                             \
    std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #call); \
    std::exit(2);                                                           \
  }

namespace {

constexpr int kThreads = 16;
constexpr int kParts = 64;
constexpr int kBytes = 4096;

struct alignas(64) Part {
  std::mutex mutex;
  std::array<std::uint64_t, 64> counts{};
};

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/// Some hundred nanoseconds.
std::uint64_t work(std::uint64_t seed) {
  for (int i = 0; i < 64; ++i) next(seed);
  return seed;
}

void turns(int count, std::uint64_t seed, std::vector<Part>& parts, CUdeviceptr buffer, CUstream stream) {
  std::uint64_t state = seed;
  for (int i = 1; i <= count; ++i) {
    const std::uint64_t word = work(next(state));
    Part& part = parts[word % kParts];
    {
      const std::lock_guard lock(part.mutex);
      for (std::uint64_t& each : part.counts) each += word;
    }
    if (i % 256 == 0) MUST(cuMemsetD8Async(buffer, 0, kBytes, stream));
    if (i % 4096 == 0) MUST(cuStreamSynchronize(stream));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int blocks = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  const int count = argc > 2 ? std::max(1, std::atoi(argv[2])) : 32768;  // some ten milliseconds
  CUcontext context = nullptr;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  std::vector<Part> parts(kParts);
  std::vector<double> times(blocks);
  std::barrier together(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      CUdeviceptr buffer = 0;
      CUstream stream = nullptr;
      MUST(cuCtxSetCurrent(context));
      MUST(cuMemAlloc(&buffer, kBytes));
      MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      turns(count, thread + 1, parts, buffer, stream);
      for (int block = 0; block < blocks; ++block) {
        together.arrive_and_wait();
        const auto start = std::chrono::steady_clock::now();
        turns(count, thread + 1, parts, buffer, stream);
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
