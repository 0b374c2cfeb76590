// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// An event that was recorded in a capture cannot be waited for on the host.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

cudaGraph_t record(float* x, cudaStream_t s) {
  cudaGraph_t graph = nullptr;
  cudaEvent_t e;
  cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(e, s);
#ifndef FIXED
  cudaEventSynchronize(e);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventSynchronize is not allowed while stream 's' is captured: it waits for an event [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-6]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:3: note: move it out of the capture; it would not be part of the graph
#endif
  cudaStreamEndCapture(s, &graph);
  cudaEventDestroy(e);
  return graph;
}
