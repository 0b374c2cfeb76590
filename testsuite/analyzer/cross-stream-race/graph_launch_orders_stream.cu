// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// A graph launch is one operation of its stream; what is in it is not known: silent either way.
#include <cuda_runtime.h>

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(cudaGraphExec_t graph, const float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaGraphLaunch(graph, a);
  consume<<<1, 256, 0, b>>>(data, out);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
