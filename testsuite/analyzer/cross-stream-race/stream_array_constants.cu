// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Elements 0 and 1 of one array of streams are two streams.
#include <cuda_runtime.h>

__global__ void forward(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void layers(const float* input, float* hidden, float* output) {
  cudaStream_t streams[2];
  for (int i = 0; i < 2; ++i) cudaStreamCreate(&streams[i]);
  forward<<<1, 256, 0, streams[0]>>>(input, hidden);
#ifdef FIXED
  cudaStreamSynchronize(streams[0]);
#endif
  forward<<<1, 256, 0, streams[1]>>>(hidden, output);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'forward' on stream 'streams[1]' may read 'hidden' while kernel 'forward' on stream 'streams[0]' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'hidden' is written here, on stream 'streams[0]'
// CHECK-NOTES: :[[@LINE-8]]:31: note: stream 'streams[0]' is created here
// CHECK-NOTES: :[[@LINE-9]]:31: note: stream 'streams[1]' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'streams[1]' after stream 'streams[0]': record an event in stream 'streams[0]' after the write and let stream 'streams[1]' wait for it with cudaStreamWaitEvent before kernel 'forward'
  for (int i = 0; i < 2; ++i) cudaStreamSynchronize(streams[i]);
  for (int i = 0; i < 2; ++i) cudaStreamDestroy(streams[i]);
}
