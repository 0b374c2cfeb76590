// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A launch inside a lambda that captures the streams by reference.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  auto launch = [&](float* where) { produce<<<1, 256, 0, a>>>(where); };
  auto join = [&] { cudaStreamSynchronize(a); };
  launch(data);
#ifdef FIXED
  join();
#endif
  consume<<<1, 256, 0, b>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:37: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-7]]:3: note: in the call to 'lambda' here
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(b);
  join();
}
