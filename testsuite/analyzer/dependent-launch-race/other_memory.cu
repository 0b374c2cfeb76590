// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
//
// What the kernel does before its wait is with other memory: a table, or what both read.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

__global__ void consume(const float* table, const float* in, float* out) {
  __shared__ float kept[256];
  kept[threadIdx.x] = table[threadIdx.x];
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + threadIdx.x));
  __syncthreads();
  cudaGridDependencySynchronize();
  out[threadIdx.x] = in[threadIdx.x] * kept[threadIdx.x];
}

void run(float* data, const float* table, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, consume, table, static_cast<const float*>(data), out);
}
