// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// The kernel in the middle waits, but lets the next one begin before: what that does before its own wait may run
// beside the first.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define TRIGGER_FIRST
#else
#define TRIGGER_FIRST cudaTriggerProgrammaticLaunchCompletion()
#endif

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

__global__ void other(float* unrelated) {
  TRIGGER_FIRST;
  cudaGridDependencySynchronize();
  unrelated[threadIdx.x] = 2.0f;
}

__global__ void consume(const float* in, float* out) {
  const float mine = in[threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+19]]:3: note: kernel 'consume' is launched here
// CHECK-NOTES: :[[@LINE+7]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:22: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
  cudaGridDependencySynchronize();
  out[threadIdx.x] = mine;
}

void run(float* data, float* unrelated, float* out, cudaStream_t stream) {
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
  cudaLaunchKernelEx(&config, other, unrelated);
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);
}
