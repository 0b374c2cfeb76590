// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// Each round reads what the round before has written.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__global__ void step(const float* in, float* out) {
  WAIT_FIRST;
  out[threadIdx.x] = in[threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: kernel 'step' on stream 'config.stream' may read 'a' while kernel 'clear' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+21]]:5: note: kernel 'step' is launched here
// CHECK-NOTES: :[[@LINE+19]]:5: note: 'a' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:22: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
}
__global__ void clear(float* in) {
  cudaGridDependencySynchronize();
  in[threadIdx.x] = 0;
}

void run(float* a, float* b, int rounds, cudaStream_t stream) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  for (int i = 0; i < rounds; ++i) {
    clear<<<1, 256, 0, stream>>>(a);
    cudaLaunchKernelEx(&config, step, static_cast<const float*>(a), b);
  }
}
