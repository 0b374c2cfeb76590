// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The wait is put into the producer instead of the consumer.
#include <cuda_runtime.h>

__global__ void encode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void decode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void transcode(const float* frame, float* code, float* result) {
  cudaStream_t encoder, decoder;
  cudaEvent_t done;
  cudaStreamCreate(&encoder);
  cudaStreamCreate(&decoder);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  encode<<<1, 256, 0, encoder>>>(frame, code);
  cudaEventRecord(done, encoder);
#ifdef FIXED
  cudaStreamWaitEvent(decoder, done, 0);
#else
  cudaStreamWaitEvent(encoder, done, 0);
#endif
  decode<<<1, 256, 0, decoder>>>(code, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'decode' on stream 'decoder' may read 'code' while kernel 'encode' on stream 'encoder' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'code' is written here, on stream 'encoder'
// CHECK-NOTES: :[[@LINE-5]]:3: note: it is another stream than stream 'decoder' that waits for event 'done' here
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'encoder' is created here
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'decoder' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'decoder' wait for event 'done' with cudaStreamWaitEvent before kernel 'decode'
  cudaDeviceSynchronize();
}
