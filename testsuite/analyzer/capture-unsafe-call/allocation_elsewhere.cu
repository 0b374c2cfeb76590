// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// Stream-ordered memory of a captured stream becomes part of the graph; of another stream it is refused.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(size_t bytes) {
  cudaStream_t s, other;
  cudaGraph_t graph = nullptr;
  float* x = nullptr;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
#ifdef FIXED
  cudaMallocAsync(&x, bytes, s);
#else
  cudaMallocAsync(&x, bytes, other);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMallocAsync is not allowed while stream 's' is captured: it allocates in a stream that is not captured [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-6]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}
