// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The record stands before the launch that it should cover.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
#ifdef FIXED
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ready, a);
#else
  cudaEventRecord(ready, a);
  produce<<<1, 256, 0, a>>>(data);
#endif
  cudaStreamWaitEvent(b, ready, 0);
  consume<<<1, 256, 0, b>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it: event 'ready', which it waits for, was recorded before that [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-7]]:3: note: event 'ready' is recorded here, before the write: a wait for it does not cover the write
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: record event 'ready' in stream 'a' after the write, before stream 'b' waits for it
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
