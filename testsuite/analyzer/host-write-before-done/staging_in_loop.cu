// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The loop fills the staging buffer for batch n+1 while batch n may still be uploaded.
#include <cuda_runtime.h>

__global__ void train(const float* batch) {}

void epoch(const float* dataset, float* d_batch, int batches, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  float* staging = nullptr;
  cudaHostAlloc(&staging, n * sizeof(float), cudaHostAllocDefault);
  for (int b = 0; b < batches; ++b) {
    for (int i = 0; i < n; ++i) staging[i] = dataset[b * n + i];
// CHECK-MESSAGES: :[[@LINE-1]]:33: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream', in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+4]]:5: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:33: note: wait for stream 'stream' with cudaStreamSynchronize before the write
    cudaMemcpyAsync(d_batch, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
    train<<<1, 256, 0, stream>>>(d_batch);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
}
