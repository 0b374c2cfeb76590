// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// Ordered on one path only: not certain, so it is reported with the level "maybe" alone.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* result, bool careful) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(a);
#else
  if (careful) cudaStreamSynchronize(a);
#endif
  consume<<<1, 256, 0, b>>>(data, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it, on some path [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-5]]:16: note: this orders them, but only on some of the paths that lead there
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'b' wait for stream 'a' on every path before kernel 'consume'
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
