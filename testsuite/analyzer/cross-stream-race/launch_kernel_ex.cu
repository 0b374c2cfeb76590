// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// cudaLaunchKernelEx takes its stream from the configuration struct.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = a;
  cudaLaunchKernelEx(&config, produce, data);
#ifndef FIXED
  config.stream = b;
#endif
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' on stream 'config.stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'config.stream'
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'config.stream' is created here
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'config.stream' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders the stream of kernel 'consume' after the stream of kernel 'produce': record an event in the stream of kernel 'produce' after the write and let the stream of kernel 'consume' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaDeviceSynchronize();
}
