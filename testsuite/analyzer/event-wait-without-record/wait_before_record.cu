// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The wait is called before the record: it sees the state of the event at its call, which is empty.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void other(float* out) { out[threadIdx.x] = 0.0f; }

void run(float* data, float* rest) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreate(&ready);
#ifdef FIXED
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready, 0);
#else
  cudaStreamWaitEvent(b, ready, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'b' waits for event 'ready', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE+4]]:3: note: event 'ready' is recorded only here, after the wait
// CHECK-NOTES: :[[@LINE-9]]:3: note: event 'ready' is created here
// CHECK-NOTES: :[[@LINE-4]]:3: note: record event 'ready' with cudaEventRecord before the wait
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ready, a);
#endif
  other<<<1, 256, 0, b>>>(rest);
  cudaDeviceSynchronize();
}
