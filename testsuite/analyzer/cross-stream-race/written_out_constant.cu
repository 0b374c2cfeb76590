// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The elements of short arrays behind the loops that worked on them: which of them is meant matters.
#include <cuda_runtime.h>

__global__ void pour(float* cup) { *cup = 1.0f; }
__global__ void drink(const float* cup, float* out) { *out = *cup; }

void toast(float** cups, float* out) {
  cudaStream_t waiters[3], guest;
  cudaEvent_t poured[3];
  for (int i = 0; i < 3; ++i) {
    cudaStreamCreateWithFlags(&waiters[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&poured[i], cudaEventDisableTiming);
  }
  cudaStreamCreateWithFlags(&guest, cudaStreamNonBlocking);
  for (int i = 0; i < 3; ++i) {
    pour<<<1, 1, 0, waiters[i]>>>(cups[i]);
    cudaEventRecord(poured[i], waiters[i]);
  }
#ifdef FIXED
  cudaStreamWaitEvent(guest, poured[2], 0);
#else
  cudaStreamWaitEvent(guest, poured[1], 0);
#endif
  drink<<<1, 1, 0, guest>>>(cups[2], out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'drink' on stream 'guest' may read 'cups[2]' while kernel 'pour' on stream 'waiters[i]' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-10]]:5: note: 'cups[2]' is written here, on stream 'waiters[i]'
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 'waiters[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'guest' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'guest' after stream 'waiters[i]': record an event in stream 'waiters[i]' after the write and let stream 'guest' wait for it with cudaStreamWaitEvent before kernel 'drink'
}
