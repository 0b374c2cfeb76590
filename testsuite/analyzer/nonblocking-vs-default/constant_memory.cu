// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// New coefficients are written over those that a kernel in a non-blocking stream still reads.
#include <cuda_runtime.h>

__constant__ float taps[16];

__device__ float tap(int i) { return taps[i]; }
__global__ void filter(const float* in, float* out) {
  float sum = 0;
  for (int i = 0; i < 16; ++i) sum += tap(i) * in[threadIdx.x + i];
  out[threadIdx.x] = sum;
}

void two_bands(const float* in, float* low, float* high, const float* other_taps) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  filter<<<1, 256, 0, stream>>>(in, low);
#ifdef FIXED
  cudaMemcpyToSymbolAsync(taps, other_taps, sizeof taps, 0, cudaMemcpyHostToDevice, stream);
#else
  cudaMemcpyToSymbol(taps, other_taps, sizeof taps);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyToSymbol (host to device) on the default stream may write 'taps' while kernel 'filter' on non-blocking stream 'stream' still reads it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'taps' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: the default stream does not wait for stream 'stream', which is non-blocking; record an event in stream 'stream' after the read and let the default stream wait for it with cudaStreamWaitEvent before cudaMemcpyToSymbol (host to device)
  cudaDeviceSynchronize();
#endif
  filter<<<1, 256, 0, stream>>>(in, high);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}
