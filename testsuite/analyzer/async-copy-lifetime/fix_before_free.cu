// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent --fix
//
// --fix waits before the buffer is freed.
#include <cuda_runtime.h>

#include <cstdlib>

void run(int* device, int n, cudaStream_t stream) {
  int* host = static_cast<int*>(std::malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
  std::free(host);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'host' is freed by free while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'host' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-6]]:33: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
}
// CHECK-FIXES: cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: std::free(host);
