// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two clears of one buffer on two streams: which one wins is open when a kernel writes in between.
#include <cuda_runtime.h>

__global__ void histogram(const int* keys, int* bins) { bins[keys[threadIdx.x]] = 1; }

void rebuild(const int* keys, int* bins, size_t bytes) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaMemsetAsync(bins, 0, bytes, a);
#ifdef FIXED
  histogram<<<1, 256, 0, a>>>(keys, bins);
#else
  histogram<<<1, 256, 0, b>>>(keys, bins);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'histogram' on stream 'b' may write 'bins' while cudaMemsetAsync on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'bins' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'histogram'
#endif
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
