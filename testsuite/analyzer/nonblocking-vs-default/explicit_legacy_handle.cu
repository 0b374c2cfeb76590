// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// cudaStreamLegacy and a literal 0 mean the same stream.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void legacy(float* data, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, cudaStreamLegacy>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(cudaStreamLegacy);
#endif
  consume<<<1, 256, 0, side>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on non-blocking stream 'side' may read 'data' while kernel 'produce' on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: stream 'side' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'side' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(side);
}

void zero(float* data, float* out) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, side>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(side);
#endif
  consume<<<1, 256, 0, 0>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on the default stream may read 'data' while kernel 'produce' on non-blocking stream 'side' still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'side'
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: the default stream does not wait for stream 'side', which is non-blocking; record an event in stream 'side' after the write and let the default stream wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(0);
}
