// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// Streams at namespace scope, created in an initialisation function of the same file.
#include <cuda_runtime.h>

static cudaStream_t g_front, g_back;

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void initialise() {
  cudaStreamCreateWithFlags(&g_front, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&g_back, cudaStreamNonBlocking);
}

void run(float* data, float* out) {
  produce<<<1, 256, 0, g_front>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(g_front);
#endif
  consume<<<1, 256, 0, g_back>>>(data, out);  // FIRES: cross-stream-race
}
