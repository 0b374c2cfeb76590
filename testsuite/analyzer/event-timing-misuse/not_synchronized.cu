// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse %s
// RUN: %check event-timing-misuse %s -- -DFIXED
//
// Nobody waits for the end event: cudaErrorNotReady, and ms keeps what it held.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

float measure(float* x, cudaStream_t s) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin, s);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(end, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventElapsedTime of event 'end', which may not be complete: nothing has waited for it [streamsan-event-timing-misuse]
// CHECK-NOTES: :[[@LINE-7]]:3: note: event 'end' is recorded here on stream 's'
// CHECK-NOTES: :[[@LINE-11]]:3: note: event 'end' is created here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for event 'end' with cudaEventSynchronize before
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return ms;
}
