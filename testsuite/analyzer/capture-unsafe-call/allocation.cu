// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// cudaMalloc in a capture of global mode is not allowed.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(size_t bytes, cudaStream_t s) {
  cudaGraph_t graph = nullptr;
  float* x = nullptr;
#ifdef FIXED
  cudaMalloc(&x, bytes);
#endif
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
#ifndef FIXED
  cudaMalloc(&x, bytes);  // FIRES: capture-unsafe-call
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
