// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A stream made here is certainly not the caller's.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out, cudaStream_t callers) {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  produce<<<1, 256, 0, own>>>(data);
#ifdef FIXED
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, own);
  cudaStreamWaitEvent(callers, done, 0);
  cudaEventDestroy(done);
#endif
  consume<<<1, 256, 0, callers>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'callers' may read 'data' while kernel 'produce' on stream 'own' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'data' is written here, on stream 'own'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'own' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: nothing orders stream 'callers' after stream 'own': record an event in stream 'own' after the write and let stream 'callers' wait for it with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamDestroy(own);
}
