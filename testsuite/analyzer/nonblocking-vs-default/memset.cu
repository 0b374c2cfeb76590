// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// cudaMemset is asynchronous and on the default stream.
#include <cuda_runtime.h>

__global__ void count(const int* keys, int* bins) { atomicAdd(&bins[keys[threadIdx.x]], 1); }

void histogram(const int* keys, size_t bytes) {
  cudaStream_t side;
  int* bins = nullptr;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaMalloc(&bins, bytes);
#ifdef FIXED
  cudaMemsetAsync(bins, 0, bytes, side);
#else
  cudaMemset(bins, 0, bytes);
#endif
  count<<<4, 256, 0, side>>>(keys, bins);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'count' on non-blocking stream 'side' may atomically update 'bins' while cudaMemset on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'bins' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:3: note: cudaMemset returns when its work may still be running (R-CPY-50)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'bins' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'side' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'side' wait for it with cudaStreamWaitEvent before kernel 'count'
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
  cudaFree(bins);
}
