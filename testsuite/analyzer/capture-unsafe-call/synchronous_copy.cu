// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A synchronous copy inside the capture of a blocking stream, which its stream would have to wait for.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x, const float* pinned, size_t bytes) {
  cudaStream_t s;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
#ifdef FIXED
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, s);
#else
  cudaMemcpy(x, pinned, bytes, cudaMemcpyHostToDevice);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpy (host to device) is not allowed while stream 's' is captured: it is synchronous [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-6]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
