// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// The same event is recorded in a second stream before anybody waited for the first record.
#include <cuda_runtime.h>

__global__ void half(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void join(const float* a, const float* b, float* out) { out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }

void run(float* left, float* right, float* out) {
  cudaStream_t a, b, c;
  cudaEvent_t done, done_b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaStreamCreate(&c);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done_b, cudaEventDisableTiming);
  half<<<1, 256, 0, a>>>(left);
  cudaEventRecord(done, a);
  half<<<1, 256, 0, b>>>(right);
#ifdef FIXED
  cudaEventRecord(done_b, b);
  cudaStreamWaitEvent(c, done_b, 0);
#else
  cudaEventRecord(done, b);  // FIRES: event-rerecord
#endif
  cudaStreamWaitEvent(c, done, 0);
  join<<<1, 256, 0, c>>>(left, right, out);
  cudaDeviceSynchronize();
}
