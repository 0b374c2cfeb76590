// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A vector that takes over what a copy is still bringing.
#include <cuda_runtime.h>

#include <vector>

void results(const float* device, std::vector<float>& out, std::vector<float>& all, cudaStream_t s) {
  constexpr int kCount = 256;
  float* host = nullptr;
  cudaMallocHost(&host, kCount * sizeof(float));
  cudaMemcpyAsync(host, device, kCount * sizeof(float), cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  out.assign(host, host + kCount);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'host' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE+6]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 's' with cudaStreamSynchronize before the read
#ifdef FIXED
  all.insert(all.end(), host, host + kCount);
#endif
  cudaStreamSynchronize(s);
  cudaFreeHost(host);
}

void append(const float* device, std::vector<float>& all, cudaStream_t s) {
  constexpr int kCount = 256;
  float* host = nullptr;
  cudaMallocHost(&host, kCount * sizeof(float));
  cudaMemcpyAsync(host, device, kCount * sizeof(float), cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  all.insert(all.end(), host, host + kCount);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'host' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 's' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(s);
  cudaFreeHost(host);
}
