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
  work<<<1, 256>>>(x);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'work' is not allowed while stream 's' is captured: it goes to the default stream, which is not captured [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-6]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  cudaStreamEndCapture(s, &graph);
  return graph;
}
