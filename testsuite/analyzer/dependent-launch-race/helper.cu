// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// The launch is in a helper that is given the kernel, and the early read in a constructor that the kernel calls.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

template <typename... Params, typename... Args>
void launch_dependent(void (*kernel)(Params...), cudaStream_t stream, Args... args) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
}

struct Scale {
  float factor;
  __device__ Scale(const float* factors, int row) : factor(factors[row]) {}
// CHECK-MESSAGES: :[[@LINE-1]]:60: warning: kernel 'scale' on stream 'stream' may read 'factors' while kernel 'find_factors' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+19]]:3: note: kernel 'scale' is launched here
// CHECK-NOTES: :[[@LINE+17]]:3: note: 'factors' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:60: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
};

__global__ void find_factors(const float* in, float* factors) { factors[threadIdx.x] = in[threadIdx.x]; }

template <int kTimes>
__global__ void scale(const float* in, const float* factors, float* out) {
  WAIT_FIRST;
  Scale by(factors, blockIdx.x);
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  out[threadIdx.x] = in[threadIdx.x] * by.factor * kTimes;
}

void run(const float* in, float* factors, float* out, cudaStream_t stream) {
  find_factors<<<1, 256, 0, stream>>>(in, factors);
  launch_dependent(scale<4>, stream, in, factors, out);
}
