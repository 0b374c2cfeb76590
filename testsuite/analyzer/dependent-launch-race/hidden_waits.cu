// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
//
// Waits that a compilation for the host does not see: under a condition on the architecture, in a macro that is empty
// there, in a function of which only the declaration is here, behind a barrier.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

#if __CUDA_ARCH__ >= 900
#define GRID_DEPENDENCY_SYNC() cudaGridDependencySynchronize()
#else
#define GRID_DEPENDENCY_SYNC()
#endif

__global__ void in_assembly(const float* in, float* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void in_a_macro(const float* in, float* out) {
  GRID_DEPENDENCY_SYNC();
  out[threadIdx.x] = in[threadIdx.x];
}
__device__ void wait_for_my_turn() {
#ifdef __CUDA_ARCH__
  cudaGridDependencySynchronize();
#endif
}
__global__ void in_a_function(const float* in, float* out) {
  wait_for_my_turn();
  out[threadIdx.x] = in[threadIdx.x];
}
__device__ void elsewhere();
__global__ void in_another_file(const float* in, float* out) {
  elsewhere();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void one_thread(const float* in, float* out) {
  if (threadIdx.x == 0) cudaGridDependencySynchronize();
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void in_a_choice(const float* in, float* out, int kind) {
  switch (kind) {
    case 0:
      cudaGridDependencySynchronize();
      break;
    default:
      cudaGridDependencySynchronize();
      out[1] = 0;
  }
  out[threadIdx.x] = in[threadIdx.x];
}

void run(float* data, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, in_assembly, static_cast<const float*>(data), out);
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, in_a_macro, static_cast<const float*>(data), out);
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, in_a_function, static_cast<const float*>(data), out);
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, in_another_file, static_cast<const float*>(data), out);
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, one_thread, static_cast<const float*>(data), out);
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(&config, in_a_choice, static_cast<const float*>(data), out, 1);
}
