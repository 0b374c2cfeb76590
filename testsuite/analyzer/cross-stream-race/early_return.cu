// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The early return leaves before any conflict; the fall-through path races.
#include <cuda_runtime.h>

__global__ void produce(float* out, int n) { out[threadIdx.x] = n; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

int run(float* data, float* result, int n) {
  cudaStream_t a, b;
  if (cudaStreamCreate(&a) != cudaSuccess) return -1;
  if (cudaStreamCreate(&b) != cudaSuccess) {
    cudaStreamDestroy(a);
    return -1;
  }
  produce<<<1, 256, 0, a>>>(data, n);
  if (cudaGetLastError() != cudaSuccess) {
    cudaStreamSynchronize(a);
    return -2;
  }
#ifdef FIXED
  if (cudaStreamSynchronize(a) != cudaSuccess) return -3;
#endif
  consume<<<1, 256, 0, b>>>(data, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-16]]:7: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-16]]:7: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
  return cudaStreamSynchronize(b) == cudaSuccess ? 0 : -4;
}
