// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// An event is recorded and waited for, but in a third stream: it covers other work.
#include <cuda_runtime.h>

__global__ void encode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void decode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void transcode(const float* frame, float* code, float* result) {
  cudaStream_t encoder, decoder, copier;
  cudaEvent_t done;
  cudaStreamCreate(&encoder);
  cudaStreamCreate(&decoder);
  cudaStreamCreate(&copier);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  encode<<<1, 256, 0, encoder>>>(frame, code);
#ifdef FIXED
  cudaEventRecord(done, encoder);
#else
  cudaEventRecord(done, copier);
#endif
  cudaStreamWaitEvent(decoder, done, 0);
  decode<<<1, 256, 0, decoder>>>(code, result);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'decode' on stream 'decoder' may read 'code' while kernel 'encode' on stream 'encoder' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'code' is written here, on stream 'encoder'
// CHECK-NOTES: :[[@LINE-6]]:3: note: event 'done' is recorded here, in another stream than stream 'encoder': it does not cover the write
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'encoder' is created here
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'decoder' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: record event 'done' in stream 'encoder', after the write and before the wait
  cudaDeviceSynchronize();
}
