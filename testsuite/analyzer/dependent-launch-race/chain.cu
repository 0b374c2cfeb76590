// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// The kernel in the middle does not wait, so the wait of the last one is for it alone: the first may still run.
// The one in the middle uses other memory, and is right for itself.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

__global__ void other(float* unrelated) {
  WAIT_FIRST;
  unrelated[threadIdx.x] = 2.0f;
}

__global__ void consume(const float* in, float* out) {
  cudaGridDependencySynchronize();
  out[threadIdx.x] = in[threadIdx.x];
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
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: a kernel between them does not wait for it, so waiting for that one is not enough [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE-13]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:3: note: call cudaGridDependencySynchronize() in the kernel between them, too, or launch one of the two without the attribute
}
