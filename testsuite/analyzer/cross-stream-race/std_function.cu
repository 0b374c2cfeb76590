// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The consumer is called through a std::function: what it does is not known, silent; called by name it races.
#include <cuda_runtime.h>

#include <functional>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

static void launch(const float* data, float* out, cudaStream_t s) {
  consume<<<1, 256, 0, s>>>(data, out);  // FIRES: cross-stream-race
}

void by_name(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  launch(data, out, b);
  cudaDeviceSynchronize();
}

void by_function(float* data, float* out, const std::function<void(float*, float*, cudaStream_t)>& any) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
  any(data, out, b);
  consume<<<2, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}
