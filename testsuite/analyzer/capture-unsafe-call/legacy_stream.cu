// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A launch without a stream between begin and end touches the legacy stream.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x) {
  cudaStream_t s;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
#ifdef FIXED
  work<<<1, 256, 0, s>>>(x);
#else
  work<<<1, 256>>>(x);  // FIRES: capture-unsafe-call
#endif
  cudaStreamEndCapture(s, &graph);
  return graph;
}
