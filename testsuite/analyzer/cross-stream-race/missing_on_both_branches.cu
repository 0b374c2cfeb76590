// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Both branches enqueue, neither orders: the reader races whichever ran.
#include <cuda_runtime.h>

__global__ void fill_fast(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void fill_exact(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* result, bool fast) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  if (fast) {
    fill_fast<<<1, 256, 0, a>>>(data);
  } else {
    fill_exact<<<1, 256, 0, a>>>(data);
  }
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  consume<<<1, 256, 0, b>>>(data, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'fill_exact' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:5: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
