// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check device-wide-sync %s
// RUN: %check device-wide-sync %s -- -DFIXED
//
// A library function that gets a stream and stops the whole device.
#include <cuda_runtime.h>

__global__ void reduce(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

void sum(const float* in, float* out, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  reduce<<<1, 256, 0, stream>>>(in, out);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#else
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize waits for the whole device where only stream 'stream' can have work [streamsan-device-wide-sync]
// CHECK-NOTES: :[[@LINE-6]]:3: note: kernel 'reduce' is the last work on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'cudaStreamSynchronize(stream)' waits for the same work
#endif
}
