// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// The stream with work is of another device than the one that is synchronised.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void run(float* x) {
  cudaSetDevice(0);
  cudaStream_t s;
  cudaStreamCreate(&s);
  work<<<1, 256, 0, s>>>(x);
#ifdef FIXED
  cudaSetDevice(1);
#endif
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize waits for the whole device where only stream 's' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-6]]:3: note: kernel 'work' is the last work on stream 's'
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 's' is created here
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'cudaStreamSynchronize(s)' waits for the same work
  cudaStreamDestroy(s);
}

void given(float* x, cudaStream_t s, int device) {
  cudaSetDevice(device);
  work<<<1, 256, 0, s>>>(x);
  cudaDeviceSynchronize();
}
