// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// What a method of a parameter returns ends the work as a number does. What is read before the wait counts by where it is,
// not by where the kernel reads later.
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
  float own = 0;
  if (cell < shape.cells()) own = in[cell];  // FIRES: dependent-launch-race
  cudaGridDependencySynchronize();
  if (cell < shape.cells()) out[cell] = own;
}
// silent: the front half is read after the wait
__global__ void consume_half(const float* in, float* out, const int* first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float weight = in[first[0] + i];
  cudaGridDependencySynchronize();
  out[i] = weight * in[i];
}
// silent: which part is a number of the launch
__global__ void consume_part(const float* in, float* out, int first) {
  const float one = in[first + threadIdx.x];
  cudaGridDependencySynchronize();
  out[first + threadIdx.x] = one;
}

void run(float* data, float* out, Shape shape, int first, const int* table, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(64);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const float* const in = data;
  produce<<<64, 256, 0, stream>>>(data, shape);
  cudaLaunchKernelEx(&config, consume, in, out, shape);
  produce<<<64, 256, 0, stream>>>(data, shape);
  cudaLaunchKernelEx(&config, consume_part, in, out, first);
  produce<<<64, 256, 0, stream>>>(data, shape);
  cudaLaunchKernelEx(&config, consume_half, in, out, table);
}
