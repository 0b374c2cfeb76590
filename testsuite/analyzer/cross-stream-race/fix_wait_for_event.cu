// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --fix
//
// The event is recorded after the write, only the wait is missing: --fix inserts it.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(ready, a);
  consume<<<1, 256, 0, b>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-4]]:3: note: event 'ready' is recorded here, after the write, but stream 'b' does not wait for it
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'b' wait for event 'ready' with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(b);
  cudaStreamSynchronize(a);
}
// CHECK-FIXES: cudaEventRecord(ready, a);
// CHECK-FIXES: cudaStreamWaitEvent(b, ready, 0);
// CHECK-FIXES: consume<<<1, 256, 0, b>>>(data, out);
