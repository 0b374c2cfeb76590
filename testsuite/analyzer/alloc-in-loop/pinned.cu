// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check alloc-in-loop %s
// RUN: %check alloc-in-loop %s -- -DFIXED
//
// Pinned memory is dear: page-locking in every iteration.
#include <cuda_runtime.h>

void feed(float* device, int batches, size_t bytes, cudaStream_t s) {
  float* staging = nullptr;
#ifdef FIXED
  cudaMallocHost(&staging, bytes);
#endif
  for (int b = 0; b < batches; ++b) {
#ifndef FIXED
    cudaMallocHost(&staging, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMallocHost of 'staging' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
    staging[0] = b;
    cudaMemcpyAsync(device, staging, bytes, cudaMemcpyHostToDevice, s);
    cudaStreamSynchronize(s);
#ifndef FIXED
    cudaFreeHost(staging);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaFreeHost of 'staging' in every iteration of a loop may synchronise the device [streamsan-alloc-in-loop]
// CHECK-NOTES: :[[@LINE-2]]:5: note: allocate before the loop and free after it, or use stream-ordered memory
#endif
  }
#ifdef FIXED
  cudaFreeHost(staging);
#endif
}
