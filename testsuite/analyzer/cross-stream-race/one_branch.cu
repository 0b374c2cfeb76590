// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// Ordered on one path only: not certain, so it is told with the level "maybe" alone.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* result, bool careful) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(a);
#else
  if (careful) cudaStreamSynchronize(a);
#endif
  consume<<<1, 256, 0, b>>>(data, result);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
