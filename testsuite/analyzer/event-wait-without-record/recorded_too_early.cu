// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The record stands before the launch that it should cover.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
#ifdef FIXED
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ready, a);
#else
  cudaEventRecord(ready, a);
  produce<<<1, 256, 0, a>>>(data);
#endif
  cudaStreamWaitEvent(b, ready, 0);
  consume<<<1, 256, 0, b>>>(data, out);  // FIRES: event-wait-without-record
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
