// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Order may come over a third stream: producer -> middle -> consumer. Without the first leg there is none.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void filter(float* other) { other[threadIdx.x] += 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void chain(float* data, float* other, float* result) {
  cudaStream_t a, b, c;
  cudaEvent_t ab, bc;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaStreamCreate(&c);
  cudaEventCreateWithFlags(&ab, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&bc, cudaEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ab, a);
#ifdef FIXED
  cudaStreamWaitEvent(b, ab, 0);
#endif
  filter<<<1, 256, 0, b>>>(other);
  cudaEventRecord(bc, b);
  cudaStreamWaitEvent(c, bc, 0);
  consume<<<1, 256, 0, c>>>(data, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'c' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-10]]:3: note: event 'ab' is recorded here, after the write, but stream 'c' does not wait for it
// CHECK-NOTES: :[[@LINE-17]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-16]]:3: note: stream 'c' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'c' wait for event 'ab' with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(c);
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
