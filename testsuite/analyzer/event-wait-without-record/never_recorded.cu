// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The event is created and waited for, but nobody records it: the wait does nothing.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

void run(float* data) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  cudaEventRecord(ready, a);
#endif
  cudaStreamWaitEvent(b, ready, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'b' waits for event 'ready', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-7]]:3: note: event 'ready' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: record event 'ready' with cudaEventRecord before the wait
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
  cudaEventDestroy(ready);
}
