// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// A kernel on the legacy default stream does not wait for a non-blocking stream.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t side;
#ifdef FIXED
  cudaStreamCreate(&side);  // a blocking stream takes part in the legacy barrier
#else
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
#endif
  produce<<<1, 256, 0, side>>>(data);
  consume<<<1, 256>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on the default stream may read 'data' while kernel 'produce' on non-blocking stream 'side' still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is written here, on stream 'side'
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: the default stream does not wait for stream 'side', which is non-blocking; record an event in stream 'side' after the write and let the default stream wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaDeviceSynchronize();
  cudaStreamDestroy(side);
}
