// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The vector grows, and with it its block moves, while the copy reads the old one.
#include <cuda_runtime.h>

#include <vector>

void upload(float* d_first, float* d_second, cudaStream_t stream) {
  std::vector<float> values(128, 1.0f);
  cudaMemcpyAsync(d_first, values.data(), 128 * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  values.resize(4096);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'values' is resized while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'values' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:22: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
  cudaMemcpyAsync(d_second, values.data(), 4096 * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
}
