// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The same with new[] and delete[].
#include <cuda_runtime.h>

void upload(int* device, int n, cudaStream_t stream) {
  int* host = new int[n];
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  delete[] host;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'host' is deleted while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:15: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
}
