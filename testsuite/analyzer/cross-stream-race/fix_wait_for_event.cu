// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --fix
//
// The event is recorded after the write, only the wait is missing: --fix inserts it.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ready, a);
  consume<<<1, 256, 0, b>>>(data, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
// CHECK-FIXES: cudaEventRecord(ready, a);
// CHECK-FIXES: cudaStreamWaitEvent(b, ready, 0);
// CHECK-FIXES: consume<<<1, 256, 0, b>>>(data, out);
