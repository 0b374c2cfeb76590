// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// An event is recorded and waited for, but in a third stream: it covers other work.
#include <cuda_runtime.h>

__global__ void encode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void decode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void transcode(const float* frame, float* code, float* result) {
  cudaStream_t encoder, decoder, copier;
  cudaEvent_t done;
  cudaStreamCreate(&encoder);
  cudaStreamCreate(&decoder);
  cudaStreamCreate(&copier);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  encode<<<1, 256, 0, encoder>>>(frame, code);
#ifdef FIXED
  cudaEventRecord(done, encoder);
#else
  cudaEventRecord(done, copier);
#endif
  cudaStreamWaitEvent(decoder, done, 0);
  decode<<<1, 256, 0, decoder>>>(code, result);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}
