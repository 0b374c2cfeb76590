// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight host threads that launch at once, each into its own stream and buffer, every launch with arguments of its own.
#include <thread>
#include <vector>

#include "kernels.cuh"
#include "stage.h"

namespace {

constexpr int kThreads = 8;
constexpr int kLaunches = 100;
constexpr int kMine = 1 << 14;

void work() {
  cudaStream_t stream = non_blocking_stream();
  float* data = device_floats(kMine);
  float* host = pinned_floats(kMine);
  CHECK(cudaMemsetAsync(data, 0, kMine * sizeof(float), stream));
  for (int i = 0; i < kLaunches; ++i) {
    add_one<<<blocks_for(kMine), 256, 0, stream>>>(data + i, kMine - i);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaMemcpyAsync(host, data, kMine * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kLaunches; ++i) expect_all(host + i, 1, static_cast<float>(i + 1));
  expect_all(host + kLaunches, kMine - kLaunches, static_cast<float>(kLaunches));
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
