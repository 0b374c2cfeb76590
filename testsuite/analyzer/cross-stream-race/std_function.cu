// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The consumer is called through a std::function: what it does is not known, silent; called by name it races.
#include <cuda_runtime.h>

#include <functional>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

static void launch(const float* data, float* out, cudaStream_t s) {
  consume<<<1, 256, 0, s>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+15]]:3: note: in the call to 'launch' here
// CHECK-NOTES: :[[@LINE+10]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE+7]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE+7]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
}

void by_name(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(a);
#endif
  launch(data, out, b);
  cudaDeviceSynchronize();
}

void by_function(float* data, float* out, const std::function<void(float*, float*, cudaStream_t)>& any) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  produce<<<1, 256, 0, a>>>(data);
  any(data, out, b);
  consume<<<2, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}
