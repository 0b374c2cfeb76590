// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The second stream is one of two that differ from the first, whichever it is.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out, bool urgent) {
  cudaStream_t main_stream, high, low;
  cudaStreamCreate(&main_stream);
  cudaStreamCreateWithPriority(&high, cudaStreamDefault, -1);
  cudaStreamCreateWithPriority(&low, cudaStreamDefault, 0);
  produce<<<1, 256, 0, main_stream>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(main_stream);
#endif
  if (urgent) {
    consume<<<1, 256, 0, high>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'consume' on stream 'high' may read 'data' while kernel 'produce' on stream 'main_stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'data' is written here, on stream 'main_stream'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'main_stream' is created here
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'high' is created here
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'high' after stream 'main_stream': record an event in stream 'main_stream' after the write and let stream 'high' wait for it with cudaStreamWaitEvent before kernel 'consume'
  } else {
    consume<<<2, 256, 0, low>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'consume' on stream 'low' may read 'data' while kernel 'produce' on stream 'main_stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'data' is written here, on stream 'main_stream'
// CHECK-NOTES: :[[@LINE-18]]:3: note: stream 'main_stream' is created here
// CHECK-NOTES: :[[@LINE-17]]:3: note: stream 'low' is created here
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'low' after stream 'main_stream': record an event in stream 'main_stream' after the write and let stream 'low' wait for it with cudaStreamWaitEvent before kernel 'consume'
  }
  cudaDeviceSynchronize();
}
