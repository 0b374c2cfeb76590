// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The two launches and the edge are in helpers; the report stands where the second access is.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

static void launch_producer(float* data, cudaStream_t stream) { produce<<<1, 256, 0, stream>>>(data); }
static void launch_consumer(const float* data, float* out, cudaStream_t stream) {
  consume<<<1, 256, 0, stream>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+23]]:3: note: in the call to 'launch_consumer' here
// CHECK-NOTES: :[[@LINE-5]]:65: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE+17]]:3: note: in the call to 'launch_producer' here
// CHECK-NOTES: :[[@LINE+14]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE+14]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'consume'
}
static void order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  cudaEventRecord(event, before);
  cudaStreamWaitEvent(after, event, 0);
  cudaEventDestroy(event);
}

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  launch_producer(data, a);
#ifdef FIXED
  order(a, b);
#endif
  launch_consumer(data, out, b);
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
  (void)order;
}
