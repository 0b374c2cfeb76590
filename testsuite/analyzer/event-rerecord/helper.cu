// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// Both records are in one helper that is called for two streams.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

static void launch(float* x, cudaStream_t s, cudaEvent_t done) {
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(done, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: event 'e' is recorded again on stream 'b' before anything waited for its record on stream 'a': a wait covers only the last record [streamsan-event-rerecord]
// CHECK-NOTES: :[[@LINE+20]]:3: note: in the call to 'launch' here
// CHECK-NOTES: :[[@LINE-3]]:3: note: event 'e' is recorded here first on stream 'a'
// CHECK-NOTES: :[[@LINE+13]]:3: note: in the call to 'launch' here
// CHECK-NOTES: :[[@LINE+19]]:3: note: this wait does not cover what stream 'a' did
// CHECK-NOTES: :[[@LINE+9]]:3: note: event 'e' is created here
// CHECK-NOTES: :[[@LINE-7]]:3: note: use one event for each record, or wait for the first before this one
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
