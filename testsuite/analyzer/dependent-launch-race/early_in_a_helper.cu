// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A helper reads a row of the block, from where its caller says on; the kernel calls it before its wait.
#include <cuda_runtime.h>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__device__ float sum_of(const float* in, int length, int first) {
  const size_t row = static_cast<size_t>(blockIdx.x) * length;
  float sum = 0;
  for (int i = first; i < length; i += blockDim.x) sum += in[row + i];
// CHECK-MESSAGES: :[[@LINE-1]]:59: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+37]]:3: note: kernel 'consume' is launched here
// CHECK-NOTES: :[[@LINE+35]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:59: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute
  return sum;
}

__global__ void produce(float* out, int length) {
  for (int i = threadIdx.x; i < length; i += blockDim.x) out[blockIdx.x * length + i] = 1.0f;
}

__global__ void consume(const float* in, float* out, int length) {
  WAIT_FIRST;
  const float sum = sum_of(in, length, threadIdx.x);
  cudaGridDependencySynchronize();
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Only later rows are read early, and nobody says how many are written.
__device__ float sum_of_later_rows(const float* in, int length, int first) {
  float sum = 0;
  if (blockIdx.x > 0)
    for (int i = first; i < length; i += blockDim.x) sum += in[blockIdx.x * length + i];
  return sum;
}

__global__ void consume_later_rows(const float* in, float* out, int length) {
  const float sum = sum_of_later_rows(in, length, threadIdx.x);
  cudaGridDependencySynchronize();
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

void run(float* data, float* out, float* other, int length, cudaStream_t stream) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {dim3(8), dim3(256), 0, stream, &attribute, 1};
  produce<<<8, 256, 0, stream>>>(data, length);
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out, length);
  produce<<<8, 256, 0, stream>>>(other, length);
  cudaLaunchKernelEx(&config, consume_later_rows, static_cast<const float*>(other), out, length);
}
