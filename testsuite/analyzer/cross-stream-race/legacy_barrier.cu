// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Work on the legacy default stream stands between two blocking streams and orders them.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void touch(float* other) { other[threadIdx.x] = 0.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void ordered_by_barrier(float* data, float* other, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
  touch<<<1, 256>>>(other);
  consume<<<1, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}

void barrier_in_vain(float* data, float* other, float* out) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  produce<<<1, 256, 0, a>>>(data);
  touch<<<1, 256>>>(other);
  consume<<<1, 256, 0, b>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaDeviceSynchronize();
}
