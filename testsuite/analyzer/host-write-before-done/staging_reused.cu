// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// One pinned staging buffer, filled again while the first upload may still read it.
#include <cuda_runtime.h>

#include <cstring>

void upload_two(float* d_a, float* d_b, const float* a, const float* b, size_t bytes) {
  cudaStream_t stream;
  float* staging = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&staging, bytes);
  std::memcpy(staging, a, bytes);
  cudaMemcpyAsync(d_a, staging, bytes, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  std::memcpy(staging, b, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+5]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the write
  cudaMemcpyAsync(d_b, staging, bytes, cudaMemcpyHostToDevice, stream);
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
  cudaStreamDestroy(stream);
}
