// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// The second kernel reads what the first one writes before it waits for it.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

__global__ void consume(const float* in, float* out) {
  WAIT_FIRST;
  const float mine = in[threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+18]]:3: note: kernel 'consume' is launched here
// CHECK-NOTES: :[[@LINE+7]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:22: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
  cudaGridDependencySynchronize();
  out[threadIdx.x] = mine;
}

void run(float* data, float* out, cudaStream_t stream) {
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
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);
}
