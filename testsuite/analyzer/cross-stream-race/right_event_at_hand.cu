// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The consumer waits for the event of another stream, though there is one that covers what it reads: the advice is to
// wait for that one.
#include <cuda_runtime.h>

__global__ void left(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void right(float* out) { out[threadIdx.x] = 2.0f; }
__global__ void join(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void both(float* a, float* b, float* out) {
  cudaStream_t first, second, last;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  cudaStreamCreate(&last);
  cudaEvent_t first_done, second_done;
  cudaEventCreate(&first_done);
  cudaEventCreate(&second_done);
  left<<<1, 256, 0, first>>>(a);
  cudaEventRecord(first_done, first);
  right<<<1, 256, 0, second>>>(b);
  cudaEventRecord(second_done, second);
#ifdef FIXED
  cudaStreamWaitEvent(last, first_done, 0);
#else
  cudaStreamWaitEvent(last, second_done, 0);
#endif
  join<<<1, 256, 0, last>>>(a, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'join' on stream 'last' may read 'a' while kernel 'left' on stream 'first' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-11]]:3: note: 'a' is written here, on stream 'first'
// CHECK-NOTES: :[[@LINE-11]]:3: note: event 'first_done' is recorded here, after the write, but stream 'last' does not wait for it
// CHECK-NOTES: :[[@LINE-19]]:3: note: stream 'first' is created here
// CHECK-NOTES: :[[@LINE-18]]:3: note: stream 'last' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'last' wait for event 'first_done' with cudaStreamWaitEvent before kernel 'join'
  cudaDeviceSynchronize();
}
