// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// Before its wait a kernel reads neighbours in what the kernel in front writes from its begin on: where they are is not
// found out, so that is likely. What a method of a parameter returns ends the work as a number does.
#include <cuda_runtime.h>

#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

struct Shape {
  int nx, ny;
  __host__ __device__ int cells() const { return nx * ny; }
};

__global__ void produce(float* out, Shape shape) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell < shape.cells()) out[cell] = 1.0f;
}
__global__ void consume(const float* in, float* out, Shape shape) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  WAIT_FIRST;
  const int x = cell % shape.nx, y = cell / shape.nx;
  float left = 0;
  if (cell < shape.cells() && x > 0 && y > 0) left = in[(y - 1) * shape.nx + x - 1];  // FIRES: dependent-launch-race
  cudaGridDependencySynchronize();
  if (cell < shape.cells()) out[cell] = left;
}
// silent: which part is a number of the launch
__global__ void consume_part(const float* in, float* out, int first) {
  const float one = in[first + threadIdx.x];
  cudaGridDependencySynchronize();
  out[first + threadIdx.x] = one;
}

void both(float* data, float* out, Shape shape, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  produce<<<64, 256, 0, stream>>>(data, shape);
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out, shape);
}
void parts(float* data, float* out, Shape shape, int first, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  produce<<<64, 256, 0, stream>>>(data, shape);
  cudaLaunchKernelEx(&config, consume_part, static_cast<const float*>(data), out, first);
}
