// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The host clears the destination after the download was enqueued: which of the two stays is open.
#include <cuda_runtime.h>

#include <cstring>

void fetch(const float* device, size_t bytes) {
  cudaStream_t stream;
  float* host = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&host, bytes);
#ifdef FIXED
  std::memset(host, 0, bytes);
  cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
#else
  cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
  std::memset(host, 0, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'host' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'host' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+5]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'host' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the write
#endif
  cudaStreamSynchronize(stream);
  cudaFreeHost(host);
}
