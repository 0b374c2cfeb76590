// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// Two streams that are spelt alike, each in a function of its own. No advice says that a stream should wait for itself.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

static void put(float* data, bool careful) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  produce<<<1, 256, 0, s>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(s);
#else
  if (careful) cudaStreamSynchronize(s);
#endif
}

static void take(const float* data, float* result) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  consume<<<1, 256, 0, s>>>(data, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 's' may read 'data' while kernel 'produce' on stream 's' still writes it, on some path [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+12]]:3: note: in the call to 'take' here
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'data' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE+9]]:3: note: in the call to 'put' here
// CHECK-NOTES: :[[@LINE-12]]:16: note: this orders them, but only on some of the paths that lead there
// CHECK-NOTES: :[[@LINE-18]]:3: note: stream 's' is created here
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 's' is created here
// CHECK-NOTES: :[[@LINE-8]]:3: note: let the stream of kernel 'consume' wait for the stream of kernel 'produce' on every path before kernel 'consume'
  cudaStreamSynchronize(s);
}

void run(float* data, float* result, bool careful) {
  put(data, careful);
  take(data, result);
}
