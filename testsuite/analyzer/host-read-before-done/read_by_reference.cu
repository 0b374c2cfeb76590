// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The standard library reads numbers that it is given by reference to const.
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

void collect(const float* device, float* pinned, int n, std::vector<float>& all, cudaStream_t stream) {
  cudaMallocHost(&pinned, n * sizeof(float));
  cudaMemcpyAsync(pinned, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  all.push_back(pinned[0]);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'pinned' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'pinned' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'pinned' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the read
}

float largest(const float* device, int n, cudaStream_t stream) {
  float* pinned;
  cudaMallocHost(&pinned, n * sizeof(float));
  cudaMemcpyAsync(pinned, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float result = std::max(pinned[0], pinned[1]);
// CHECK-MESSAGES: :[[@LINE-1]]:24: warning: the host may read 'pinned' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'pinned' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'pinned' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:24: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(pinned);
  return result;
}
