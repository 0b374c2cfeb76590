// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// The helper that is called inside the capture ends with a device synchronisation.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

static void run_layer(float* x, cudaStream_t s) {
  work<<<1, 256, 0, s>>>(x);
#ifndef FIXED
  cudaDeviceSynchronize();  // FIRES: capture-unsafe-call
#endif
}

cudaGraph_t record(float* x, int layers) {
  cudaStream_t s;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
  for (int i = 0; i < layers; ++i) run_layer(x, s);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
