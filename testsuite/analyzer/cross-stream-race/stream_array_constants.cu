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
  forward<<<1, 256, 0, streams[1]>>>(hidden, output);  // FIRES: cross-stream-race
  for (int i = 0; i < 2; ++i) cudaStreamSynchronize(streams[i]);
  for (int i = 0; i < 2; ++i) cudaStreamDestroy(streams[i]);
}
