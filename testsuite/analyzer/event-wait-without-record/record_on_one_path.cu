// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
//
// Recorded on one path only: the wait is not certainly empty, so it is silent by default.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

void run(float* data, bool busy, cudaStream_t a, cudaStream_t b) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  if (busy) {
    produce<<<1, 256, 0, a>>>(data);
    cudaEventRecord(e, a);
  }
  cudaStreamWaitEvent(b, e, 0);
  cudaEventDestroy(e);
}
