// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
//
// cudaMemcpy from pinned memory is complete when it returns; from a pointer of unknown kind it may be: silent.
#include <cuda_runtime.h>

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, const float* host, size_t bytes, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice);
  consume<<<1, 256, 0, side>>>(data, out);
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
}
