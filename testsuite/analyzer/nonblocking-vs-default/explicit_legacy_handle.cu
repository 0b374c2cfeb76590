// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// cudaStreamLegacy and a literal 0 mean the same stream.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void legacy(float* data, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, cudaStreamLegacy>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(cudaStreamLegacy);
#endif
  consume<<<1, 256, 0, side>>>(data, out);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(side);
}

void zero(float* data, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, side>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(side);
#endif
  consume<<<1, 256, 0, 0>>>(data, out);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(0);
}
