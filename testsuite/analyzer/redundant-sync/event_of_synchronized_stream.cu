// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// Waiting for an event whose stream was synchronised after its record.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x, cudaStream_t s) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(e, s);
  cudaStreamSynchronize(s);
#ifndef FIXED
  cudaEventSynchronize(e);  // FIRES: redundant-sync
#endif
  cudaEventDestroy(e);
}
