// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse %s
// RUN: %check event-timing-misuse %s -- -DFIXED
//
// An event made without timing cannot tell a time.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

float measure(float* x, cudaStream_t s) {
  cudaEvent_t begin, end;
#ifdef FIXED
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
#else
  cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
#endif
  cudaEventRecord(begin, s);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(end, s);
  cudaEventSynchronize(end);
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventElapsedTime of event 'begin', which was created without timing, fails [streamsan-event-timing-misuse]
// CHECK-NOTES: :[[@LINE-10]]:3: note: event 'begin' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: create the event without the flag that disables timing
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms;
}
