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
  cudaStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize is not allowed while stream 's' is captured: it synchronises a stream whose work is not running [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-5]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
