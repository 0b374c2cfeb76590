// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// The blocking copy back reads before the kernel on the non-blocking stream has written.
#include <cuda_runtime.h>

__global__ void compute(float* data) { data[threadIdx.x] += 1.0f; }

float result(float* data) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  compute<<<1, 256, 0, side>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(side);
#endif
  float first = 0.0f;
  cudaMemcpy(&first, data, sizeof(first), cudaMemcpyDeviceToHost);  // FIRES: nonblocking-vs-default
  cudaStreamDestroy(side);
  return first;
}
