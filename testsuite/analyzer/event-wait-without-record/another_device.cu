// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// An event can only be recorded in a stream of its own device. Which device a variable names is not known.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void constants(float* x) {
  cudaEvent_t done;
  cudaStream_t stream, next;
  cudaSetDevice(0);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
#ifdef FIXED
  cudaSetDevice(0);
#else
  cudaSetDevice(1);
#endif
  cudaStreamCreate(&stream);
  cudaStreamCreate(&next);
  work<<<1, 256, 0, stream>>>(x);
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(next, done, 0);
  // CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'next' waits for event 'done', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
  // CHECK-NOTES: :[[@LINE-3]]:3: note: this record fails: event 'done' was created on another device than the stream
  // CHECK-NOTES: :[[@LINE-13]]:3: note: event 'done' is created here
  // CHECK-NOTES: :[[@LINE-4]]:3: note: create event 'done' on the device of the stream that it is recorded in
  cudaStreamSynchronize(next);
}

void variables(float* x, int first, int second) {
  cudaEvent_t done;
  cudaStream_t stream, next;
  cudaSetDevice(first);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaSetDevice(second);
  cudaStreamCreate(&stream);
  cudaStreamCreate(&next);
  work<<<1, 256, 0, stream>>>(x);
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(next, done, 0);
  cudaStreamSynchronize(next);
}
