// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The error path leaves without the synchronisation that the normal path has.
#include <cuda_runtime.h>

__global__ void apply(const float* w, float* x) { x[threadIdx.x] *= w[threadIdx.x]; }

bool run(float* d_weights, float* x, cudaStream_t stream) {
  float weights[64];
  for (int i = 0; i < 64; ++i) weights[i] = 1.0f / (i + 1);
  cudaMemcpyAsync(d_weights, weights, sizeof(weights), cudaMemcpyHostToDevice, stream);
  apply<<<1, 64, 0, stream>>>(d_weights, x);
  if (cudaGetLastError() != cudaSuccess) {
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    return false;
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: 'weights' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'weights' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
  }
  return cudaStreamSynchronize(stream) == cudaSuccess;
}
