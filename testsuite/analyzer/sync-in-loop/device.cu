// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
// RUN: %check sync-in-loop %s -- -DFIXED
//
// The whole device in a while loop.
#include <cuda_runtime.h>

__global__ void step(float* x) { x[threadIdx.x] += 1.0f; }

void simulate(float* x, int steps) {
  while (steps-- > 0) {
    step<<<1, 256>>>(x);
#ifndef FIXED
    cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaDeviceSynchronize in every iteration of a loop: the device is idle while the host prepares the next one [streamsan-sync-in-loop]
// CHECK-NOTES: :[[@LINE-5]]:10: note: the loop is here
// CHECK-NOTES: :[[@LINE-3]]:5: note: synchronise after the loop, or let streams wait for events with cudaStreamWaitEvent
#endif
  }
  cudaDeviceSynchronize();
}
