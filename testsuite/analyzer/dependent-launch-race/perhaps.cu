// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// OPTIONS: streamsan.Levels: definite;likely;latent;maybe
//
// Told as possible: a wait on some paths, an attribute that is a variable. At the default levels both are silent.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

__global__ void on_some_paths(const float* in, float* out, bool wait) {
  if (wait) cudaGridDependencySynchronize();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

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
  cudaLaunchKernelEx(&config, on_some_paths, static_cast<const float*>(data), out, true);  // FIRES: dependent-launch-race
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
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);  // FIRES: dependent-launch-race
}
