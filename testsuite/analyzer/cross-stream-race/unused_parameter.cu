// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// What a kernel does with a pointer is read from its body: the scratch pointer is passed but never touched.
#include <cuda_runtime.h>

__global__ void first(float* data, float* scratch) { data[threadIdx.x] = 0.0f; }
__global__ void second(float* data, float* scratch) { data[threadIdx.x] = scratch[threadIdx.x]; }
__global__ void third(float* data, float* scratch) { scratch[threadIdx.x] = data[threadIdx.x]; }

void silent(float* x, float* y, float* scratch) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  first<<<1, 256, 0, a>>>(x, scratch);
  third<<<1, 256, 0, b>>>(y, scratch);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}

void firing(float* x, float* y, float* scratch) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  second<<<1, 256, 0, a>>>(x, scratch);
  third<<<1, 256, 0, b>>>(y, scratch);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'third' on stream 'b' may write 'scratch' while kernel 'second' on stream 'a' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'scratch' is read here, on stream 'a'
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the read and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'third'
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
