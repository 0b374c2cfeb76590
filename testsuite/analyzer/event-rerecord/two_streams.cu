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
  cudaEventRecord(done, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: event 'done' is recorded again on stream 'b' before anything waited for its record on stream 'a': a wait covers only the last record [streamsan-event-rerecord]
// CHECK-NOTES: :[[@LINE-8]]:3: note: event 'done' is recorded here first on stream 'a'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this wait does not cover what stream 'a' did
// CHECK-NOTES: :[[@LINE-13]]:3: note: event 'done' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: use one event for each record, or wait for the first before this one
#endif
  cudaStreamWaitEvent(c, done, 0);
  join<<<1, 256, 0, c>>>(left, right, out);
  cudaDeviceSynchronize();
}
