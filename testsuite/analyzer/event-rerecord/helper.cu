// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// Both records are in one helper that is called for two streams.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

static void launch(float* x, cudaStream_t s, cudaEvent_t done) {
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(done, s);  // FIRES: event-rerecord
}

void run(float* x, float* y) {
  cudaStream_t a, b;
  cudaEvent_t e, f;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&f, cudaEventDisableTiming);
  launch(x, a, e);
#ifdef FIXED
  launch(y, b, f);
  cudaEventSynchronize(f);
#else
  launch(y, b, e);
#endif
  cudaEventSynchronize(e);
}
