// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,event-wait-without-record %s
// RUN: %check cross-stream-race,event-wait-without-record %s -- -DFIXED
// RUN: %check cross-stream-race,event-wait-without-record %s -- -DFIXED -DONE_FOR_BOTH
//
// Two parameters may be one stream. Code that makes one wait for the other was written for two; a caller that passes
// one value for both says that they may be one.
#include <cuda_runtime.h>

__global__ void pack(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void send(const float* p, float* out) { out[threadIdx.x] = p[threadIdx.x]; }

void exchange(float* p, float* out, cudaEvent_t packed, cudaStream_t compute, cudaStream_t copy) {
  cudaEventRecord(packed, compute);
  cudaStreamWaitEvent(copy, packed, 0);
  pack<<<1, 32, 0, compute>>>(p);
#ifdef FIXED
  cudaEventRecord(packed, compute);
  cudaStreamWaitEvent(copy, packed, 0);
#endif
  send<<<1, 32, 0, copy>>>(p, out);  // FIRES: cross-stream-race
}

// Nothing speaks for two here.
void perhaps_one(float* p, float* out, cudaStream_t compute, cudaStream_t copy) {
  pack<<<1, 32, 0, compute>>>(p);
  send<<<1, 32, 0, copy>>>(p, out);
}

#ifdef ONE_FOR_BOTH
void all_in_one(float* p, float* out, cudaEvent_t packed, cudaStream_t s) { exchange(p, out, packed, s, s); }
#endif
