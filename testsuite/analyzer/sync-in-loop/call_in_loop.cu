// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
// RUN: %check sync-in-loop %s -- -DFIXED
//
// What else the loop calls may be the reason to wait: silent when it is other code, reported when it is none.
#include <cuda_runtime.h>

void report(int step);

__global__ void step(float* x) { x[threadIdx.x] += 1.0f; }

void with_report(float* x, int steps, cudaStream_t s) {
  for (int i = 0; i < steps; ++i) {
    step<<<1, 256, 0, s>>>(x);
    cudaStreamSynchronize(s);
    report(i);
  }
}

void without(float* x, int steps, cudaStream_t s) {
  for (int i = 0; i < steps; ++i) {
    step<<<1, 256, 0, s>>>(x);
#ifndef FIXED
    cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaStreamSynchronize on stream 's' in every iteration of a loop: the device is idle while the host prepares the next one [streamsan-sync-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: synchronise after the loop, or let streams wait for events with cudaStreamWaitEvent
#endif
  }
  cudaStreamSynchronize(s);
}
