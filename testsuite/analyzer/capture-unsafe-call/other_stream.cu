// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A capture that is not relaxed refuses to wait for streams, and to ask about them, that have nothing to do with it.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

#ifdef FIXED
constexpr cudaStreamCaptureMode kMode = cudaStreamCaptureModeRelaxed;
#else
constexpr cudaStreamCaptureMode kMode = cudaStreamCaptureModeThreadLocal;
#endif

cudaGraph_t waits(float* x, float* y) {
  cudaStream_t s, upload;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&s);
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  work<<<1, 256, 0, upload>>>(y);
  cudaStreamBeginCapture(s, kMode);
  work<<<1, 256, 0, s>>>(x);
  cudaStreamSynchronize(upload);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaStreamSynchronize is not allowed while stream 's' is captured: it synchronises a stream, which only a relaxed capture allows [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-4]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
  cudaStreamEndCapture(s, &graph);
  return graph;
}

cudaError_t asks(float* x, cudaStream_t upload, cudaGraph_t* graph) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, kMode);
  work<<<1, 256, 0, s>>>(x);
  const cudaError_t done = cudaStreamQuery(upload);
// CHECK-MESSAGES: :[[@LINE-1]]:28: warning: cudaStreamQuery is not allowed while stream 's' is captured: it asks about a stream, which only a relaxed capture allows [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-4]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:28: note: move it out of the capture; it would not be part of the graph
  cudaStreamEndCapture(s, graph);
  return done;
}
