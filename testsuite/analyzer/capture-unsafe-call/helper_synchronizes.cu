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
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize is not allowed while stream 's' is captured: it synchronises the device [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE+11]]:36: note: in the call to 'run_layer' here
// CHECK-NOTES: :[[@LINE+9]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-4]]:3: note: move it out of the capture; it would not be part of the graph
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
