// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A result copied to pinned memory is read before the copy is done.
#include <cuda_runtime.h>

__global__ void reduce(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

float sum(const float* in, float* d_total) {
  cudaStream_t stream;
  float* total = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&total, sizeof(float));
  reduce<<<1, 256, 0, stream>>>(in, d_total);
  cudaMemcpyAsync(total, d_total, sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float result = *total;
// CHECK-MESSAGES: :[[@LINE-1]]:24: warning: the host may read 'total' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'total' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'total' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:24: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(total);
  cudaStreamDestroy(stream);
  return result;
}
