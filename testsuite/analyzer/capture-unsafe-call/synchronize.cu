// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A stream synchronisation while the stream is captured ends the capture with an error.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x) {
  cudaStream_t s;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
#ifndef FIXED
  cudaStreamSynchronize(s);  // FIRES: capture-unsafe-call
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
