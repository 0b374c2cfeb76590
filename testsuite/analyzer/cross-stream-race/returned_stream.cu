// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Streams made by a helper that returns them.
#include <cuda_runtime.h>

static cudaStream_t make_stream(int priority) {
  cudaStream_t s;
  cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority);
  return s;
}

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t high = make_stream(-1);
  cudaStream_t low = make_stream(0);
  produce<<<1, 256, 0, high>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(high);
#endif
  consume<<<1, 256, 0, low>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'low' may read 'data' while kernel 'produce' on stream 'high' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on stream 'high'
// CHECK-NOTES: :[[@LINE-17]]:3: note: stream 'high' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:23: note: in the call to 'make_stream' here
// CHECK-NOTES: :[[@LINE-19]]:3: note: stream 'low' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:22: note: in the call to 'make_stream' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'low' after stream 'high': record an event in stream 'high' after the write and let stream 'low' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(low);
  cudaStreamSynchronize(high);
}
