// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
//
// Recording again is right after somebody waited, and in the same stream the later record covers the earlier.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void waited(float* x, float* y) {
  cudaStream_t a, b, c;
  cudaEvent_t e;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaStreamCreate(&c);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  work<<<1, 256, 0, a>>>(x);
  cudaEventRecord(e, a);
  cudaStreamWaitEvent(c, e, 0);
  work<<<1, 256, 0, b>>>(y);
  cudaEventRecord(e, b);
  cudaStreamWaitEvent(c, e, 0);
  cudaStreamSynchronize(c);
}

void same_stream(float* x, cudaStream_t a, cudaStream_t c) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  work<<<1, 256, 0, a>>>(x);
  cudaEventRecord(e, a);
  work<<<1, 256, 0, a>>>(x);
  cudaEventRecord(e, a);
  cudaStreamWaitEvent(c, e, 0);
}
