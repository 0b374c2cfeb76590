// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// cudaFreeHost while a copy reads the buffer.
#include <cuda_runtime.h>

void upload(float* device, const float* values, int n, cudaStream_t stream) {
  float* staging = nullptr;
  cudaMallocHost(&staging, n * sizeof(float));
  for (int i = 0; i < n; ++i) staging[i] = values[i];
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  cudaFreeHost(staging);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'staging' is freed by cudaFreeHost while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-ALC-05) [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before it is freed
}
