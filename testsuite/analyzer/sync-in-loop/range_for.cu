// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check sync-in-loop %s
// RUN: %check sync-in-loop %s -- -DFIXED
//
// A range-for over buffers.
#include <cuda_runtime.h>

#include <vector>

__global__ void clear(float* x) { x[threadIdx.x] = 0.0f; }

void clear_all(const std::vector<float*>& buffers, cudaStream_t s) {
  for (float* buffer : buffers) {
    clear<<<1, 256, 0, s>>>(buffer);
#ifndef FIXED
    cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaStreamSynchronize on stream 's' in every iteration of a loop: the device is idle while the host prepares the next one [streamsan-sync-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: synchronise after the loop, or let streams wait for events with cudaStreamWaitEvent
#endif
  }
  cudaStreamSynchronize(s);
}
