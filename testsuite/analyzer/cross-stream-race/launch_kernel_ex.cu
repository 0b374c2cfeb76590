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
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}
