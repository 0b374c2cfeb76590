// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A relaxed capture may wait for the legacy stream, unless that would have to wait for the captured one.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x) {
  cudaStream_t s;
  cudaGraph_t graph = nullptr;
#ifdef FIXED
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
#else
  cudaStreamCreate(&s);
#endif
  cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
  work<<<1, 256, 0, s>>>(x);
  cudaStreamSynchronize(0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize is not allowed while stream 's' is captured: it synchronises the default stream [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-4]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
  cudaStreamEndCapture(s, &graph);
  return graph;
}
