// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Waiting by reading a word over and over is waiting: of another thread, and of the GPU. Each thread has its own
// current device, and a launch whose argument launches something else is in its own stream.
#include <cuda_runtime.h>

#include <atomic>
#include <thread>

__global__ void finish(float* data, volatile int* flag) {
  data[threadIdx.x] = 1;
  __threadfence_system();
  *flag = 1;
}
__global__ void use(float* data) { data[threadIdx.x] *= 2; }

float* after_work_on(cudaStream_t stream, float* data, float* result) {
  use<<<1, 32, 0, stream>>>(data);
  return result;
}

int main() {
  constexpr size_t kBytes = 4096;
  cudaStream_t copies, other;
  float *device, *scratch, *host;
  volatile int* flag;
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaMalloc((void**)&device, kBytes);
  cudaMalloc((void**)&scratch, kBytes);
  cudaMallocHost((void**)&host, kBytes);
  cudaMallocHost((void**)&flag, sizeof(int));

  use<<<1, 32>>>(device);
  std::thread elsewhere([] { cudaSetDevice(1); });
  elsewhere.join();
  use<<<1, 32>>>(device);
  cudaDeviceSynchronize();
  use<<<1, 32, 0, copies>>>(device);
  use<<<1, 32, 0, copies>>>(after_work_on(other, scratch, device));
  cudaDeviceSynchronize();

  finish<<<1, 32, 0, copies>>>(host, flag);
  while (*flag == 0) {
  }
  float sum = host[0];

  std::atomic<bool> done{false};
  cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, copies);
  std::thread waiter([&] {
#ifdef FIXED
    cudaStreamSynchronize(copies);
#endif
    done = true;
  });
  while (!done) {
  }
  sum += host[0];  // FIRES: host-read-before-done
  waiter.join();
  return sum > 0 ? 0 : 1;
}
