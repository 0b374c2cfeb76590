// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The source is a local array that is gone when the function returns: right only as the driver stages it today.
#include <cuda_runtime.h>

void set_coefficients(float* d_coefficients, float a, float b, cudaStream_t stream) {
  const float coefficients[2] = {a, b};
  cudaMemcpyAsync(d_coefficients, coefficients, sizeof(coefficients), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'coefficients' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'coefficients' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
