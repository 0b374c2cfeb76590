// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// rapidsai/rapidsmpf#1101, HL: the buffer maker copies from a local vector and returns only the device buffer.
#include <cuda_runtime.h>

#include <numeric>
#include <vector>

int* make_buffer(int n, cudaStream_t stream) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  int* device = nullptr;
  cudaMallocAsync(&device, n * sizeof(int), stream);
  cudaMemcpyAsync(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  return device;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'values' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'values' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-11]]:20: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
}
