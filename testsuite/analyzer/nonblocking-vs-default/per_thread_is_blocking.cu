// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s -- -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1
//
// The per-thread default stream does wait for the legacy stream, and a non-blocking one for neither.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void ordered(float* data, float* out) {
  produce<<<1, 256, 0, cudaStreamLegacy>>>(data);
  consume<<<1, 256>>>(data, out);
  cudaStreamSynchronize(cudaStreamPerThread);
}

void unordered(float* data, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, cudaStreamLegacy>>>(data);
  consume<<<1, 256, 0, side>>>(data, out);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(side);
}
