// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Threads are distinguished by their ids: that of main() is another than that of a thread which it starts.
#include <cuda_runtime.h>

#include <thread>

int main() {
  float* data = nullptr;
  cudaStream_t fill = nullptr, use = nullptr;
  cudaEvent_t filled = nullptr;
  cudaMalloc(&data, 4096);
  cudaStreamCreateWithFlags(&fill, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&use, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  cudaMemsetAsync(data, 1, 4096, fill);
  cudaEventRecord(filled, fill);
  const std::thread::id main_thread = std::this_thread::get_id();
  std::thread other([&] {
#ifdef FIXED
    const bool waits = std::this_thread::get_id() != main_thread;
#else
    const bool waits = std::this_thread::get_id() == main_thread;
#endif
    if (waits) cudaStreamWaitEvent(use, filled, 0);
    cudaMemsetAsync(data, 2, 4096, use);  // FIRES: cross-stream-race
  });
  other.join();
  cudaDeviceSynchronize();
}
