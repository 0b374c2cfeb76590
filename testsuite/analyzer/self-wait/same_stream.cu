// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check self-wait %s
// RUN: %check self-wait %s -- -DFIXED
//
// A stream waits for an event that it has recorded itself: its order holds already.
#include <cuda_runtime.h>

__global__ void first(float* x) { x[threadIdx.x] += 1.0f; }
__global__ void second(float* x) { x[threadIdx.x] *= 2.0f; }

void run(float* x, cudaStream_t s) {
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  first<<<1, 256, 0, s>>>(x);
#ifndef FIXED
  cudaEventRecord(e, s);
  cudaStreamWaitEvent(s, e, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 's' waits for event 'e', which it recorded itself: the wait does nothing [streamsan-self-wait]
// CHECK-NOTES: :[[@LINE-3]]:3: note: event 'e' is recorded here on stream 's'
#endif
  second<<<1, 256, 0, s>>>(x);
  cudaEventDestroy(e);
}
