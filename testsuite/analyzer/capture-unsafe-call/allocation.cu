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
  cudaMalloc(&x, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMalloc is not allowed while stream 's' is captured: it may synchronise the device [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-4]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
