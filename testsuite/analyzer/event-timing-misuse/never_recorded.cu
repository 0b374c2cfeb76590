// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse %s
// RUN: %check event-timing-misuse %s -- -DFIXED
//
// The end event is never recorded.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

float measure(float* x) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  work<<<1, 256>>>(x);
#ifdef FIXED
  cudaEventRecord(end);
#endif
  cudaDeviceSynchronize();
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventElapsedTime of event 'end', which was never recorded, fails [streamsan-event-timing-misuse]
// CHECK-NOTES: :[[@LINE-10]]:3: note: event 'end' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: record event 'end' with cudaEventRecord before
  return ms;
}
