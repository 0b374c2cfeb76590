// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A wait under a condition that is the same for the host and the device: where it is left out, it is left out for both.
#include <cuda_runtime.h>

__global__ void front(float* out) {
  cudaTriggerProgrammaticLaunchCompletion();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void back(const float* in, float* out) {
#ifdef FIXED
  cudaGridDependencySynchronize();
#endif
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:48: warning: kernel 'back' on stream 'config.stream' may read 'data' while kernel 'front' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+26]]:3: note: kernel 'back' is launched here
// CHECK-NOTES: :[[@LINE+24]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:48: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
}

// silent: seen for one architecture alone
__global__ void waits_for_one(const float* in, float* out) {
#if __CUDA_ARCH__ >= 900
#ifndef NEVER_DEFINED
  cudaGridDependencySynchronize();
#endif
#endif
  out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
}

void chain(float* data, float* result, float* other, cudaStream_t stream) {
  cudaLaunchAttribute overlap[1];
  overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = overlap;
  config.numAttrs = 1;
  front<<<64, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, back, static_cast<const float*>(data), result);
  cudaStreamSynchronize(stream);
  front<<<64, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, waits_for_one, static_cast<const float*>(data), other);
}
