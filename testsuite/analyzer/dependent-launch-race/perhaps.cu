// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// OPTIONS: streamsan.Levels: definite;likely;latent;maybe
//
// Reported as possible: a wait on some paths, an attribute that is a variable. At the default levels both are silent.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

__global__ void on_some_paths(const float* in, float* out, bool wait) {
  if (wait) cudaGridDependencySynchronize();
  out[threadIdx.x] = in[threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: kernel 'on_some_paths' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it does so before it waits, on some path [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+21]]:3: note: kernel 'on_some_paths' is launched here
// CHECK-NOTES: :[[@LINE+10]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:22: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
}
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
// CHECK-MESSAGES: :[[@LINE-1]]:75: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it never waits, if the launch is a programmatic one [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+29]]:3: note: kernel 'consume' is launched here
// CHECK-NOTES: :[[@LINE+18]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:75: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute

void branch(float* data, float* out, cudaStream_t stream) {
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
  cudaLaunchKernelEx(&config, on_some_paths, static_cast<const float*>(data), out, true);
}

void variable(float* data, float* out, bool overlap, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = overlap ? 1 : 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);
}
