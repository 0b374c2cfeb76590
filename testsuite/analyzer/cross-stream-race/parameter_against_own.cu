// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A stream made here is certainly not the caller's.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out, cudaStream_t callers) {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  produce<<<1, 256, 0, own>>>(data);
#ifdef FIXED
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, own);
  cudaStreamWaitEvent(callers, done, 0);
  cudaEventDestroy(done);
#endif
  consume<<<1, 256, 0, callers>>>(data, out);  // FIRES: cross-stream-race
  cudaStreamDestroy(own);
}
