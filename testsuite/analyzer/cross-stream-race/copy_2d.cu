// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two-dimensional copies touch their memory like plain ones.
#include <cuda_runtime.h>

__global__ void blur(const float* image, float* out) { out[threadIdx.x] = image[threadIdx.x]; }

void run(float* image, size_t pitch, const float* pinned, size_t width, size_t height, float* out) {
  cudaStream_t upload, compute;
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaMemcpy2DAsync(image, pitch, pinned, width, width, height, cudaMemcpyHostToDevice, upload);
#ifdef FIXED
  cudaStreamSynchronize(upload);
#endif
  blur<<<16, 256, 0, compute>>>(image, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(compute);
  cudaStreamSynchronize(upload);
}
