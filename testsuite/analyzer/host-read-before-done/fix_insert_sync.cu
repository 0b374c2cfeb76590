// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --fix
//
// --fix puts the synchronisation of the copy's stream before the statement that reads.
#include <cuda_runtime.h>

int run(const int* device, cudaStream_t stream) {
  int* host = nullptr;
  cudaMallocHost(&host, sizeof(int));
  cudaMemcpyAsync(host, device, sizeof(int), cudaMemcpyDeviceToHost, stream);
  int value = host[0];
// CHECK-MESSAGES: :[[@LINE-1]]:15: warning: the host may read 'host' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'host' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:15: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(host);
  return value;
}
// CHECK-FIXES: cudaMemcpyAsync(host, device, sizeof(int), cudaMemcpyDeviceToHost, stream);
// CHECK-FIXES: cudaStreamSynchronize(stream);
// CHECK-FIXES: int value = host[0];
