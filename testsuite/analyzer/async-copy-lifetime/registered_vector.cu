// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s
// RUN: %check async-copy-lifetime %s -- -DFIXED
//
// A vector whose block is registered (so the copy is truly asynchronous) dies before the copy is done.
#include <cuda_runtime.h>

#include <vector>

void upload(float* device, int n, cudaStream_t stream) {
  std::vector<float> values(n, 1.0f);
  cudaHostRegister(values.data(), n * sizeof(float), cudaHostRegisterDefault);
  cudaMemcpyAsync(device, values.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
  cudaHostUnregister(values.data());
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'values' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'values' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-10]]:22: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
