// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A launch that a macro writes is reported at the macro's use, and not repaired.
#include <cuda_runtime.h>

#define LAUNCH(kernel, stream, ...) kernel<<<1, 256, 0, stream>>>(__VA_ARGS__)

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  LAUNCH(produce, a, data);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  LAUNCH(consume, b, data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:10: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-5]]:10: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
