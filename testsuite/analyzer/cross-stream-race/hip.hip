// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// HIP spellings are the same functions; the message uses HIP's names.
#include <hip/hip_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  hipStream_t a, b;
  hipEvent_t ready;
  (void)hipStreamCreateWithFlags(&a, hipStreamNonBlocking);
  (void)hipStreamCreateWithFlags(&b, hipStreamNonBlocking);
  (void)hipEventCreateWithFlags(&ready, hipEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
#ifdef FIXED
  (void)hipEventRecord(ready, a);
  (void)hipStreamWaitEvent(b, ready, 0);
#endif
  consume<<<1, 256, 0, b>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'b' may read 'data' while kernel 'produce' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-11]]:9: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:9: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with hipStreamWaitEvent before kernel 'consume'
  (void)hipStreamSynchronize(b);
  (void)hipStreamSynchronize(a);
}
