// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A kernel on the legacy default stream does not wait for a non-blocking stream.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t side;
#ifdef FIXED
  cudaStreamCreate(&side);  // a blocking stream takes part in the legacy barrier
#else
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
#endif
  produce<<<1, 256, 0, side>>>(data);
  consume<<<1, 256>>>(data, out);  // FIRES: nonblocking-vs-default
  cudaDeviceSynchronize();
  cudaStreamDestroy(side);
}
