// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The event is created and waited for, but nobody records it: the wait does nothing.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

void run(float* data) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  cudaEventRecord(ready, a);
#endif
  cudaStreamWaitEvent(b, ready, 0);  // FIRES: event-wait-without-record
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
  cudaEventDestroy(ready);
}
