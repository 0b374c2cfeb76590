// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The write-after-read direction: the upload of the next batch overwrites what the kernel still reads.
#include <cuda_runtime.h>

__global__ void infer(const float* batch, float* scores) { scores[threadIdx.x] = batch[threadIdx.x]; }

void next_batch(float* d_batch, float* d_scores, const float* h_next, size_t bytes) {
  cudaStream_t compute, upload;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  infer<<<8, 128, 0, compute>>>(d_batch, d_scores);
#ifdef FIXED
  cudaStreamSynchronize(compute);
#endif
  cudaMemcpyAsync(d_batch, h_next, bytes, cudaMemcpyHostToDevice, upload);  // FIRES: cross-stream-race
  cudaStreamSynchronize(upload);
  cudaStreamSynchronize(compute);
  cudaStreamDestroy(compute);
  cudaStreamDestroy(upload);
}
