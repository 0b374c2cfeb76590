// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %expect 1 %tidy %s -- %mock | %filecheck %s
//
// Each thread has a per-thread default stream of its own, and that a thread has ended does not mean that its work has.
#include <cuda_runtime.h>

#include <thread>
#include <vector>

__global__ void count(const float* samples, int* counts) { counts[threadIdx.x] = samples[threadIdx.x] > 0 ? 1 : 0; }

void work(const float* samples, int* counts) {
  count<<<1, 256, 0, cudaStreamPerThread>>>(samples, counts);
#ifdef FIXED
  cudaStreamSynchronize(cudaStreamPerThread);
#endif
}

int main() {
  float* samples;
  int *counts, *result;
  cudaMalloc(&samples, 1024 * sizeof(float));
  cudaMalloc(&counts, 1024 * sizeof(int));
  cudaMallocHost(&result, 1024 * sizeof(int));
  cudaMemset(samples, 0, 1024 * sizeof(float));
  cudaDeviceSynchronize();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, samples + i * 256, counts + i * 256);
  for (std::thread& each : threads) each.join();
  // CHECK: [[@LINE+1]]:3: warning: cudaMemcpyAsync on the per-thread default stream may read 'counts' while kernel 'count' on the per-thread default stream of another thread still writes it
  cudaMemcpyAsync(result, counts, 1024 * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread);  // FIRES: cross-stream-race
  cudaStreamSynchronize(cudaStreamPerThread);
  // The same thread, one stream.
  cudaDeviceSynchronize();
  count<<<1, 256, 0, cudaStreamPerThread>>>(samples, counts);
  cudaMemcpyAsync(result, counts, 1024 * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread);
  cudaStreamSynchronize(cudaStreamPerThread);
  return result[0];
}
