// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Double buffering with an event per buffer and direction, as it should be: silent.
#include <cuda_runtime.h>

__global__ void compute(const float* in, float* out) { out[threadIdx.x] += in[threadIdx.x]; }

void stream_in(const float* h_pinned, float* (&buffer)[2], float* out, int chunks, size_t n) {
  cudaStream_t copy, work;
  cudaEvent_t filled[2], drained[2];
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  for (int b = 0; b < 2; ++b) {
    cudaEventCreateWithFlags(&filled[b], cudaEventDisableTiming);
    cudaEventCreateWithFlags(&drained[b], cudaEventDisableTiming);
    cudaEventRecord(drained[b], work);
  }
  for (int c = 0; c < chunks; ++c) {
    const int b = c % 2;
    cudaStreamWaitEvent(copy, drained[b], 0);
    cudaMemcpyAsync(buffer[b], h_pinned + c * n, n * sizeof(float), cudaMemcpyHostToDevice, copy);
    cudaEventRecord(filled[b], copy);
    cudaStreamWaitEvent(work, filled[b], 0);
    compute<<<1, 256, 0, work>>>(buffer[b], out);
    cudaEventRecord(drained[b], work);
  }
  cudaStreamSynchronize(work);
}
