// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A kernel writes a buffer on one stream, a second stream reads it, no edge between the two.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = 2.0f * in[threadIdx.x]; }

void run(float* buffer, float* result) {
  cudaStream_t producer, consumer;
  cudaEvent_t ready;
  cudaStreamCreate(&producer);
  cudaStreamCreate(&consumer);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  produce<<<1, 256, 0, producer>>>(buffer);
#ifdef FIXED
  cudaEventRecord(ready, producer);
  cudaStreamWaitEvent(consumer, ready, 0);
#endif
  consume<<<1, 256, 0, consumer>>>(buffer, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'consumer' may read 'buffer' while kernel 'produce' on stream 'producer' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'buffer' is written here, on stream 'producer'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'producer' is created here
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'consumer' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'consumer' after stream 'producer': record an event in stream 'producer' after the write and let stream 'consumer' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(consumer);
  cudaStreamSynchronize(producer);
  cudaEventDestroy(ready);
  cudaStreamDestroy(producer);
  cudaStreamDestroy(consumer);
}
