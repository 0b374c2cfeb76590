// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// hipMalloc in a capture.
#include <hip/hip_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

hipGraph_t record(float* x, hipStream_t s) {
  hipGraph_t graph = nullptr;
  (void)hipStreamBeginCapture(s, hipStreamCaptureModeGlobal);
  work<<<1, 256, 0, s>>>(x);
#ifndef FIXED
  (void)hipStreamSynchronize(s);
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: hipStreamSynchronize is not allowed while stream 's' is captured: it synchronises a stream whose work is not running [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-5]]:9: note: the capture begins here
// CHECK-NOTES: :[[@LINE-3]]:9: note: move it out of the capture; it would not be part of the graph
#endif
  (void)hipStreamEndCapture(s, &graph);
  return graph;
}
