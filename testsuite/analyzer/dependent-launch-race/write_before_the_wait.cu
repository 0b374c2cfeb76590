// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// The second kernel clears what the first one still reads.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__global__ void sum(const float* in, float* out) { out[threadIdx.x] += in[threadIdx.x]; }

__global__ void refill(float* next, const float* from) {
  WAIT_FIRST;
  next[threadIdx.x] = 0;
// CHECK-MESSAGES: :[[@LINE-1]]:21: warning: kernel 'refill' on stream 'config.stream' may write 'data' while kernel 'sum' in front of it still reads it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+18]]:3: note: kernel 'refill' is launched here
// CHECK-NOTES: :[[@LINE+7]]:3: note: 'data' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:21: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
  cudaGridDependencySynchronize();
  next[threadIdx.x] += from[threadIdx.x];
}

void run(float* data, float* out, const float* from, cudaStream_t stream) {
  sum<<<1, 256, 0, stream>>>(data, out);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, refill, data, from);
}
