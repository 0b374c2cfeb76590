// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// The stream is created in the same function.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  work<<<1, 256, 0, stream>>>(x);
#ifdef FIXED
  work<<<1, 128, 16, stream>>>(x);
#else
  work<<<1, 128, 16>>>(x);  // FIRES: implicit-default-stream
#endif
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}
