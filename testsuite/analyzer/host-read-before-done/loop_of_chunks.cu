// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// One synchronisation after the loop is right; reading each chunk inside the loop is not.
#include <cuda_runtime.h>

int process(const int* device, int chunks, cudaStream_t stream) {
  int* host = nullptr;
  int total = 0;
  cudaMallocHost(&host, chunks * sizeof(int));
  for (int i = 0; i < chunks; ++i) {
    cudaMemcpyAsync(host + i, device + i, sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifndef FIXED
    total += host[i];
// CHECK-MESSAGES: :[[@LINE-1]]:14: warning: the host may read 'host' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'host' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:14: note: wait for stream 'stream' with cudaStreamSynchronize before the read
#endif
  }
  cudaStreamSynchronize(stream);
#ifdef FIXED
  for (int i = 0; i < chunks; ++i) total += host[i];
#endif
  cudaFreeHost(host);
  return total;
}
