// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// Waiting for an event that was recorded before the capture is refused, too; so is asking about it.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t waits(float* x, cudaStream_t s, cudaStream_t upload, cudaEvent_t uploaded) {
  cudaGraph_t graph = nullptr;
  cudaEventRecord(uploaded, upload);
#ifdef FIXED
  cudaEventSynchronize(uploaded);
#endif
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
#ifndef FIXED
  cudaEventSynchronize(uploaded);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventSynchronize is not allowed while stream 's' is captured: it waits for an event [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-4]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  work<<<1, 256, 0, s>>>(x);
  cudaStreamEndCapture(s, &graph);
  return graph;
}

bool asks(float* x, cudaStream_t s, cudaStream_t upload, cudaEvent_t uploaded, cudaGraph_t* graph) {
  cudaEventRecord(uploaded, upload);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
#ifdef FIXED
  cudaStreamEndCapture(s, graph);
  return cudaEventQuery(uploaded) == cudaSuccess;
#else
  const bool there = cudaEventQuery(uploaded) == cudaSuccess;
// CHECK-MESSAGES: :[[@LINE-1]]:22: warning: cudaEventQuery is not allowed while stream 's' is captured: it asks about an event [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-8]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:22: note: move it out of the capture; it would not be part of the graph
  cudaStreamEndCapture(s, graph);
  return there;
#endif
}
