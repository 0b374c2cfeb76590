// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A launch that a macro writes is told at the macro's use, and not repaired.
#include <cuda_runtime.h>

#define LAUNCH(kernel, stream, ...) kernel<<<1, 256, 0, stream>>>(__VA_ARGS__)

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  LAUNCH(produce, a, data);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  LAUNCH(consume, b, data, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
