// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A helper reads two elements of what it is given: it begins at the first of them, whichever it reads first.
#include <cuda_runtime.h>

#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

constexpr int kThreads = 256;
struct Pair {
  float one, other;
};

__global__ void produce(float* out, int n) {
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) out[i] = static_cast<float>(i);
  cudaTriggerProgrammaticLaunchCompletion();
}
__device__ Pair load(const float* in, int i, int n) {
  Pair pair;
  pair.other = i + kThreads < n ? in[i + kThreads] : 0.f;  // FIRES: dependent-launch-race
  pair.one = i < n ? in[i] : 0.f;
  return pair;
}
__global__ void consume(const float* in, float* out, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  WAIT_FIRST;
  const Pair pair = load(in, i, n);
  cudaGridDependencySynchronize();
  if (i < n) out[i] = pair.one + pair.other;
}

void run(float* data, float* out, int n, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((n + kThreads - 1) / kThreads);
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, produce, data, n);
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out, n);
}
