// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A CUB reduction on another stream than the kernel that fills its input.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

__global__ void square(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x]; }

void norm(const float* x, float* squares, float* sum, void* temporary, size_t bytes, int n) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  square<<<1, 256, 0, a>>>(x, squares);
#ifdef FIXED
  cub::DeviceReduce::Sum(temporary, bytes, squares, sum, n, a);
#else
  cub::DeviceReduce::Sum(temporary, bytes, squares, sum, n, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cub::DeviceReduce::Sum on stream 'b' may read 'squares' while kernel 'square' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'squares' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before cub::DeviceReduce::Sum
#endif
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
